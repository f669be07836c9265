// The text of a note, as it was meant to look.

import { el } from "../../kit/dom.js";
import { markWithin } from "../../kit/found_words.js";
import { renderMarkdown } from "../../kit/markdown.js";

// So much of a passage tells it from others, and is not yet beyond its first paragraph.
const TELLING_CHARACTERS = 40;

export class NoteText {
  element;

  constructor(text, words) {
    this.element = el("div", { class: "reading markdown" }, renderMarkdown(text));
    markWithin(this.element, words);
  }

  leave() {}

  /** The part of the note in which this chunk begins; undefined if it cannot be told. */
  find(chunk) {
    const beginning = lettersOf(chunk.text).slice(0, TELLING_CHARACTERS);
    const parts = [...this.element.children];
    let before = "";
    for (const part of parts) {
      const upToHere = before + lettersOf(part.textContent);
      if (upToHere.includes(beginning)) return part;
      before = upToHere.slice(-TELLING_CHARACTERS);
    }
    return undefined;
  }
}

/** A text without what Markdown makes of it. */
const lettersOf = (text) => text.replace(/[^\p{L}\p{N}]/gu, "");
