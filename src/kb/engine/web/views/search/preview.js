// What a hit says, beside the list: its passage with the words marked, and the page it stands on.

import { copyText } from "../../kit/copying.js";
import { el, fill } from "../../kit/dom.js";
import { markedWords, markWords } from "../../kit/found_words.js";
import { icon } from "../../kit/icons.js";
import { ago, headingWithin, typeName } from "../../kit/wording.js";
import { hasPages, PagePicture } from "../page_picture.js";
import { hitPlace } from "./results.js";

const LOOKED_AT_MS = 200;

export class Preview {
  element = el("section", { class: "preview card", aria: { label: "Preview" } });
  #shown = null;
  #picture = null;
  #waiting = 0;

  show(hit, q) {
    // The second answer of a search usually brings the same hit again.
    const shown = hit && JSON.stringify([hit.chunk_id, hit.snippet, hit.tags, q]);
    if (shown === this.#shown) return;
    this.leave();
    this.#shown = shown;
    this.element.hidden = !hit;
    if (hit) fill(this.element, this.#head(hit, q), this.#passage(hit), this.#page(hit, q));
  }

  leave() {
    clearTimeout(this.#waiting);
    this.#picture?.leave();
    this.#picture = null;
  }

  #head(hit, q) {
    const facts = [typeName(hit.doc_type), headingWithin(hit), hit.page_num && `page ${hit.page_num}`, ago(hit.updated_at ?? hit.created_at)].filter(Boolean);
    return el(
      "header",
      {},
      el("h2", {}, el("a", { href: hitPlace(hit, q) }, hit.title)),
      el("p", { class: "soft small" }, facts.join(" · ")),
      el("div", { class: "chips" }, hit.tags.map((tag) => el("span", { class: "chip" }, tag))),
      el(
        "div",
        { class: "chips" },
        el("a", { class: "button", href: hitPlace(hit, q) }, "Open"),
        el("button", { class: "button", type: "button", on: { click: () => copyText(citation(hit), "The citation is copied.") } }, icon("copy"), "Cite"),
      ),
    );
  }

  /** Drawn once the hit is looked at for a moment, and not for every one that is passed by. */
  #page(hit, q) {
    if (!hasPages(hit)) return null;
    const slot = el("div", {});
    this.#waiting = setTimeout(() => {
      this.#picture = new PagePicture({ documentId: hit.document_id, number: hit.page_num ?? 1, q, title: hit.title, width: 800 });
      slot.append(this.#picture.element);
    }, LOOKED_AT_MS);
    return slot;
  }

  #passage(hit) {
    // As it was written: a passage that was cut out of a list, a table or code cannot be drawn as one.
    return el("div", { class: hasPages(hit) ? "passage brief" : "passage" }, markWords(hit.text, markedWords(hit.snippet)));
  }
}

function citation(hit) {
  const place = [hit.title, hit.page_num && `page ${hit.page_num}`, hit.heading].filter(Boolean).join(", ");
  return `“${hit.text.trim()}”\n(${place}; kb document ${hit.document_id})`;
}
