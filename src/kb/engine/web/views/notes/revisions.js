// The list of a note's versions, newest first. They come in pages, since each has its whole text with it.

import { countChanges } from "../../kit/diff.js";
import { el, fill, keepFocus } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { tellProblem } from "../../kit/notices.js";
import { placeOf } from "../../kit/router.js";
import { ago, at } from "../../kit/wording.js";

const MOST_AT_ONCE = 50;
const BYTES_AT_ONCE = 5_000_000;

export class Revisions {
  id;
  element;
  etag = null;
  #known = [];
  #total = 0;
  #limit = MOST_AT_ONCE;
  #selected = null;
  #list = el("ol", { class: "revisions", aria: { label: "Versions" } });
  #more = el("button", { class: "button", type: "button", hidden: true, on: { click: () => this.#showMore() } }, "Earlier versions");

  constructor(id) {
    this.id = id;
    this.element = el("nav", { class: "revision-list", aria: { label: "Versions" } }, this.#list, this.#more);
  }

  get newest() {
    return this.#known[0];
  }

  async load() {
    const { id } = this;
    const { answer, etag } = await engine.getDocument(id, { chunks: false });
    this.#limit = Math.max(2, Math.min(MOST_AT_ONCE, Math.floor(BYTES_AT_ONCE / answer.size_bytes)));
    const { revisions, total } = await engine.listRevisions(id, { limit: this.#limit });
    if (id !== this.id) return;
    this.etag = etag;
    this.#known = revisions;
    this.#total = total;
    this.#draw();
  }

  /** The revision with this version, or the one that was current then. */
  async find(version) {
    for (;;) {
      const found = this.#known.find((revision) => revision.version <= version);
      if (found) return found;
      if (!(await this.#loadMore())) return this.#known.at(-1);
    }
  }

  /** The one before it, or null of the first. */
  async before(revision) {
    const place = this.#known.indexOf(revision) + 1;
    if (place === this.#known.length && (await this.#loadMore())) this.#draw();
    return this.#known[place] ?? null;
  }

  /** The one that stands `step` further down the list than the one that is selected; undefined at the ends. */
  async neighbour(step) {
    if (step > 0) await this.before(this.#selected);
    return this.#known[this.#known.indexOf(this.#selected) + step];
  }

  select(revision) {
    this.#selected = revision;
    for (const link of this.#list.querySelectorAll("a")) {
      const isSelected = Number(link.dataset.version) === revision.version;
      if (isSelected) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      // Not scrollIntoView, which would move the whole page.
      if (isSelected) this.element.scrollTop = link.offsetTop - this.element.offsetTop - this.element.clientHeight / 3;
    }
  }

  focus(revision) {
    if (revision) this.#list.querySelector(`[data-version="${revision.version}"]`)?.focus();
  }

  #showMore() {
    return this.#loadMore().then(() => this.#draw(), tellProblem);
  }

  async #loadMore() {
    if (this.#known.length >= this.#total) return false;
    const { revisions } = await engine.listRevisions(this.id, { limit: this.#limit, offset: this.#known.length });
    this.#known = [...this.#known, ...revisions];
    return revisions.length > 0;
  }

  #draw() {
    keepFocus(this.#list, "version", () => fill(this.#list, this.#known.map((revision, place) => this.#row(revision, this.#known[place + 1]))));
    this.#more.hidden = this.#known.length >= this.#total;
    if (this.#selected) this.select(this.#selected);
  }

  #row(revision, before) {
    const { version, title, created_at: time, is_current: isCurrent } = revision;
    const link = el(
      "a",
      { href: placeOf(`/notes/${this.id}/history`, { version }), data: { version }, title: at(time) },
      el("span", { class: "revision-time" }, ago(time), isCurrent && el("span", { class: "chip" }, "present")),
      el("span", { class: "revision-title" }, title),
      el("span", { class: "soft small" }, `version ${version}`, before && ` · ${changeInWords(before, revision)}`),
    );
    return el("li", {}, link);
  }
}

function changeInWords(before, revision) {
  const { added, removed } = countChanges(before.text, revision.text);
  if (added === 0 && removed === 0) return before.title === revision.title ? "same text" : "title changed";
  return [added && `+${added}`, removed && `−${removed}`].filter(Boolean).join(" ") + (added + removed === 1 ? " line" : " lines");
}
