// A page of a PDF, or a picture, drawn by the engine: it is fetched with the key, and shown from memory.

import { el, fill } from "../kit/dom.js";
import * as engine from "../kit/engine.js";

const WITH_PAGES = new Set(["pdf", "jpg", "png", "webp", "tiff", "svg"]);

/** Whether the engine can draw pages of a document or a hit. */
export const hasPages = ({ format }) => WITH_PAGES.has(format);

export class PagePicture {
  #loading = new AbortController();
  #url = null;

  /** `onLoad(pageCount)` is told how many pages the document has. */
  constructor({ documentId, number, q, title, width, onLoad = () => {} }) {
    this.element = el("figure", { class: "page-picture", aria: { busy: true } }, el("figcaption", { class: "soft small" }, "Drawing the page …"));
    this.#load({ documentId, number, q, width, onLoad }, `Page ${number} of ${title}`);
  }

  /** Give its memory back. */
  leave() {
    this.#loading.abort();
    if (this.#url) URL.revokeObjectURL(this.#url);
    this.#url = null;
  }

  async #load({ documentId, number, q, width, onLoad }, alt) {
    const { signal } = this.#loading;
    try {
      const { blob, pageCount } = await engine.getPage(documentId, number, { width, q: q || undefined }, signal);
      if (signal.aborted) return;
      this.#url = URL.createObjectURL(blob);
      fill(this.element, el("img", { src: this.#url, alt }));
      onLoad(pageCount);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(this.element, el("figcaption", { class: "soft small" }, `This page cannot be shown: ${error.message}`));
    } finally {
      this.element.removeAttribute("aria-busy");
    }
  }
}
