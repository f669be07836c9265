// The tags of a note: each a button that takes it away, and a field for one more.

import { LONGEST_TAG, suggestTags, tagChip } from "../../actions/tag_chips.js";
import { el, fill } from "../../kit/dom.js";
import { announce } from "../../kit/notices.js";

export class NoteTags {
  element;
  #tags = [];
  #chips = el("div", { class: "chips" });
  #known = el("datalist", { id: "note-known-tags" });
  #input = el("input", {
    class: "input", list: "note-known-tags", maxlength: LONGEST_TAG, autocomplete: "off", placeholder: "Add a tag", aria: { label: "Add a tag" },
  });
  #changed;

  /** `changed()` is called whenever the tags are others. */
  constructor(changed) {
    this.#changed = changed;
    this.element = el("div", { class: "note-tags", role: "group", aria: { label: "Tags" } }, this.#chips, this.#input, this.#known);
    this.#input.addEventListener("keydown", (event) => this.#onKey(event));
    this.#input.addEventListener("change", () => this.take());
    suggestTags(this.#known);
  }

  get tags() {
    return this.#tags;
  }

  set tags(tags) {
    this.#tags = [...tags];
    this.#draw();
  }

  /** Add what stands in the field. */
  take() {
    const tag = this.#input.value.trim();
    this.#input.value = "";
    if (!tag || this.#tags.includes(tag)) return;
    this.tags = [...this.#tags, tag];
    this.#changed();
    announce(`Tag ${tag} added`);
  }

  #onKey(event) {
    if (event.isComposing) return;
    const isEnd = event.key === "Enter" || event.key === ",";
    if (isEnd && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.take();
    }
    if (event.key === "Backspace" && this.#input.value === "" && this.#tags.length > 0) this.#remove(this.#tags.at(-1));
  }

  #remove(tag) {
    this.tags = this.#tags.filter((other) => other !== tag);
    this.#changed();
    this.#input.focus();
    announce(`Tag ${tag} removed`);
  }

  #draw() {
    fill(this.#chips, this.#tags.map((tag) => tagChip(tag, { label: `Remove ${tag}`, remove: () => this.#remove(tag) })));
  }
}
