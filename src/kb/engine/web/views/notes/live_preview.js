// What is being written, as it will be read, or beside what it differs from: drawn anew when nobody has typed for a moment.

import { el, fill } from "../../kit/dom.js";
import { renderMarkdown } from "../../kit/markdown.js";

const QUIET_MS = 80;
// A long text takes long to draw. Typing has three quarters of the time for itself.
const SHARE = 3;

export class LivePreview {
  element = el("section", { class: "note-preview card", tabindex: 0, aria: { label: "Preview" } });
  #draw = asRead;
  #timer = 0;
  #tookMs = 0;
  #shown = null;

  /** From now on show what `draw(text)` makes of a text; null: the text as it will be read. */
  drawWith(draw, text) {
    this.#draw = draw ?? asRead;
    this.#shown = null;
    this.show(text);
  }

  show(text) {
    clearTimeout(this.#timer);
    if (text === this.#shown) return;
    if (this.#shown === null) this.#drawNow(text);
    else this.#timer = setTimeout(() => this.#drawNow(text), Math.max(QUIET_MS, SHARE * this.#tookMs));
  }

  /** Show about the same part of the text as the field does. */
  follow({ scrollTop, scrollHeight, clientHeight }) {
    const { element } = this;
    const share = scrollTop / Math.max(1, scrollHeight - clientHeight);
    element.scrollTop = share * (element.scrollHeight - element.clientHeight);
  }

  leave() {
    clearTimeout(this.#timer);
  }

  #drawNow(text) {
    const start = performance.now();
    const place = this.element.scrollTop;
    fill(this.element, this.#draw(text));
    this.element.scrollTop = place;
    this.#shown = text;
    this.#tookMs = performance.now() - start;
  }
}

function asRead(text) {
  if (!text.trim()) return el("p", { class: "soft" }, "What you write is shown here as it will be read.");
  return el("div", { class: "markdown" }, renderMarkdown(text));
}
