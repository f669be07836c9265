// The text of a document in reading order. Of a long one only what is near to where somebody reads is fetched; more comes
// as it is scrolled to.

import { el, fill } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { tellProblem } from "../../kit/notices.js";
import { drawChunk } from "./chunk.js";
import { locate } from "./locating.js";

const AT_ONCE = 50;
const BEFORE = 5;
const FETCH_AHEAD_PX = 1500;

export class Reading {
  element = el("div", { class: "reading" });
  #document;
  #words;
  #showPage;
  #chunks = [];
  #start = 0;
  #nodes = el("div", { class: "chunks" });
  #earlier = el("div", { class: "more-text" });
  #later = el("div", { class: "more-text" });
  #leaving = new AbortController();
  #loading = Promise.resolve();
  #observer;

  constructor(document, { words, showPage }) {
    this.#document = document;
    this.#words = words;
    this.#showPage = showPage;
    this.element.append(this.#earlier, this.#nodes, this.#later);
    this.#observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.#extend(), {
      rootMargin: `${FETCH_AHEAD_PX}px 0px`,
    });
    this.#observer.observe(this.#earlier);
    this.#observer.observe(this.#later);
  }

  leave() {
    this.#leaving.abort();
    this.#observer.disconnect();
  }

  /** Show the text at a chunk or page; resolves, when it is there, with its element, or with undefined if it starts at the top. */
  open(place) {
    return this.#inTurn(() => this.#openNow(place));
  }

  /** One after the other: what is fetched for one place must not be joined to the text of another. */
  #inTurn(work) {
    const done = this.#loading.then(work);
    this.#loading = done.catch(() => {});
    return done;
  }

  async #openNow({ chunkId, page }) {
    const offset = this.#find({ chunkId, page }) ?? (await locate(this.#document.id, this.#document.chunk_count, { chunkId, page }, this.#leaving.signal));
    await this.#showFrom(Math.max(0, (offset ?? 0) - BEFORE), offset);
    return offset === undefined ? undefined : this.#nodes.children[offset - this.#start];
  }

  /** What somebody reads at the moment: {ordinal, top}, for `restore` of a reading of the same document after a change. */
  get position() {
    const node = [...this.#nodes.children].find((child) => child.getBoundingClientRect().bottom > 80);
    return node && { ordinal: Number(node.dataset.ordinal), top: node.getBoundingClientRect().top };
  }

  restore(position) {
    return this.#inTurn(() => this.#restoreNow(position));
  }

  async #restoreNow({ ordinal, top }) {
    const wanted = Math.min(ordinal, Math.max(0, this.#document.chunk_count - 1));
    await this.#showFrom(Math.max(0, wanted - BEFORE), wanted);
    const node = this.#nodes.children[wanted - this.#start];
    if (node) window.scrollBy({ top: node.getBoundingClientRect().top - top, behavior: "instant" });
  }

  #find({ chunkId, page }) {
    const index = this.#chunks.findIndex((chunk) => (chunkId ? chunk.id === chunkId : page && chunk.page_num === page));
    // The first chunk that is loaded may not be the first of its page.
    if (index < 0 || (!chunkId && index === 0 && this.#start > 0)) return undefined;
    return this.#start + index;
  }

  async #showFrom(start, wanted = start) {
    if (this.#chunks.length > 0 && wanted >= this.#start && wanted < this.#end) return;
    const chunks = await this.#fetch(start, AT_ONCE);
    this.#start = start;
    this.#chunks = chunks;
    fill(this.#nodes, this.#drawAll(chunks));
    this.#showEnds();
  }

  get #end() {
    return this.#start + this.#chunks.length;
  }

  async #fetch(offset, limit) {
    const { answer } = await engine.getDocument(this.#document.id, { chunk_limit: limit, chunk_offset: offset }, this.#leaving.signal);
    return answer.chunks;
  }

  #drawAll(chunks, before) {
    const { format } = this.#document;
    return chunks.map((chunk, index) => drawChunk(chunk, { before: chunks[index - 1] ?? before, format, words: this.#words, showPage: this.#showPage }));
  }

  /** Fetch what is about to come into view, one stretch after the other. */
  #extend() {
    this.#inTurn(() => this.#extendNow()).catch((error) => !this.#leaving.signal.aborted && tellProblem(error));
  }

  async #extendNow() {
    if (this.#chunks.length === 0) return;
    if (this.#end < this.#document.chunk_count && isNear(this.#later)) {
      const chunks = await this.#fetch(this.#end, AT_ONCE);
      // A document may have been cut short meanwhile; then there is no more.
      if (chunks.length === 0) return;
      this.#nodes.append(...this.#drawAll(chunks, this.#chunks.at(-1)));
      this.#chunks.push(...chunks);
    } else if (this.#start > 0 && isNear(this.#earlier)) await this.#prepend();
    else return;
    this.#showEnds();
  }

  async #prepend() {
    const start = Math.max(0, this.#start - AT_ONCE);
    const chunks = await this.#fetch(start, this.#start - start);
    const first = this.#nodes.firstElementChild;
    const before = first.getBoundingClientRect().top;
    const [redrawn] = this.#drawAll([this.#chunks[0]], chunks.at(-1));
    this.#nodes.prepend(...this.#drawAll(chunks));
    // It may have told its page or heading only because nothing stood in front of it.
    if (!first.contains(document.activeElement) && !first.classList.contains("wanted")) first.replaceWith(redrawn);
    const moved = (first.isConnected ? first : redrawn).getBoundingClientRect().top - before;
    window.scrollBy({ top: moved, behavior: "instant" });
    this.#chunks.unshift(...chunks);
    this.#start = start;
  }

  #showEnds() {
    fill(this.#earlier, this.#start > 0 && el("p", { class: "soft small" }, "Loading what stands before …"));
    fill(this.#later, this.#end < this.#document.chunk_count && el("p", { class: "soft small" }, "Loading more …"));
    // An end that stays in view does not tell again by itself.
    for (const end of [this.#earlier, this.#later]) {
      this.#observer.unobserve(end);
      this.#observer.observe(end);
    }
  }
}

function isNear(node) {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > -FETCH_AHEAD_PX && top < window.innerHeight + FETCH_AHEAD_PX;
}
