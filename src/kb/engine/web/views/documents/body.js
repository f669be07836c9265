// The text of a document and its pages, side by side, or one after the other on a phone.

import { byId, el, fill } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { queryWords } from "../../kit/found_words.js";
import { hasPages } from "../page_picture.js";
import { locate } from "./locating.js";
import { NoteText } from "./note_text.js";
import { PagePane } from "./page_pane.js";
import { Reading } from "./reading.js";

const SIDES = [["text", "Text"], ["pages", "Pages"]];

export class DocumentBody {
  element = el("div", { class: "document-body" });
  #document;
  #text;
  #pane = null;
  #move;
  #at = null;

  /** `move(change)` puts other parameters into the address. */
  constructor(document, { q, move }) {
    this.#document = document;
    this.#move = move;
    const words = queryWords(q);
    const showPage = hasPages(document) ? (page) => move({ page, chunk: "", show: "pages" }) : null;
    this.#text = document.text === undefined ? new Reading(document, { words, showPage }) : new NoteText(document.text, words);
    if (hasPages(document)) this.#pane = new PagePane(document, { q, onTurn: (page) => move({ page, chunk: "" }) });
    fill(this.element, this.#pane && this.#sides(), this.#text.element, this.#pane?.element);
    this.element.classList.toggle("with-pages", this.#pane !== null);
  }

  leave() {
    this.#text.leave();
    this.#pane?.leave();
  }

  /** False if there is no such page. */
  turn(step) {
    return this.#pane?.turn(step) ?? false;
  }

  /** Show the place that the address names; resolves when it is in view. */
  async go(params) {
    const chunkId = Number(params.get("chunk")) || undefined;
    const page = Number(params.get("page")) || undefined;
    this.#showSide(params.get("show") ?? (this.#document.doc_type === "image" ? "pages" : "text"));
    this.#pane?.show(page ?? 1);
    const at = `${chunkId} ${page}`;
    if (at === this.#at) return;
    const isFirst = this.#at === null;
    const focused = document.activeElement;
    this.#at = at;
    const node = await this.#find({ chunkId, page });
    // Another place may be wanted by now.
    if (at !== this.#at) return;
    for (const old of this.element.querySelectorAll(".wanted")) old.classList.remove("wanted");
    if (node && chunkId) node.classList.add("wanted");
    // Whoever comes to the beginning sees the title above it.
    if (node && !(isFirst && node.dataset.ordinal === "0")) bringIntoView(node, page && !chunkId);
    // A page that was turned to stands beside its text, and the reader stays at the button; as does who has pressed one meanwhile.
    if (isFirst && document.activeElement === focused) takeFocus(node ?? byId("content"));
  }

  /** Stand in for the body of an earlier version, at the same place. */
  async takeOver(old, params) {
    const position = old.#text.position;
    const scrolled = window.scrollY;
    this.#at = `${Number(params.get("chunk")) || undefined} ${Number(params.get("page")) || undefined}`;
    this.#showSide(old.element.dataset.side);
    this.#pane?.show(Number(params.get("page")) || 1);
    old.leave();
    old.element.replaceWith(this.element);
    if (position) await this.#text.restore(position);
    else {
      await this.#find({});
      window.scrollTo({ top: scrolled, behavior: "instant" });
    }
  }

  async #find(place) {
    if (this.#text instanceof Reading) return this.#text.open(place);
    if (!place.chunkId) return undefined;
    const { id, chunk_count: total } = this.#document;
    const offset = await locate(id, total, place);
    const chunk = offset !== undefined && (await engine.getDocument(id, { chunk_limit: 1, chunk_offset: offset })).answer.chunks[0];
    return chunk && this.#text.find(chunk);
  }

  #sides() {
    const button = ([name, label]) => el("button", { class: "button", type: "button", data: { side: name }, on: { click: () => this.#move({ show: name }) } }, label);
    return el("div", { class: "sides", role: "group", aria: { label: "Show" } }, SIDES.map(button));
  }

  #showSide(side) {
    this.element.dataset.side = side;
    for (const button of this.element.querySelectorAll(".sides button")) button.setAttribute("aria-pressed", String(button.dataset.side === side));
  }
}

function takeFocus(node) {
  // Whoever reads on with the keyboard starts there, though it is no control.
  if (!node.hasAttribute("tabindex")) node.tabIndex = -1;
  node.focus({ preventScroll: true });
}

function bringIntoView(node, isPage) {
  const target = (isPage && node.querySelector(".page-mark")) || node;
  target.scrollIntoView({ block: "start", behavior: "instant" });
}
