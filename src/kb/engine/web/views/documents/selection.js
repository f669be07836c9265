// The documents that are chosen for what is done to many at once, and the line that says so.

import { el, fill } from "../../kit/dom.js";
import { icon } from "../../kit/icons.js";
import { count } from "../../kit/wording.js";

export class Selection {
  #documents = new Map();
  #anchor = null;
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  get size() {
    return this.#documents.size;
  }

  get documents() {
    return [...this.#documents.values()];
  }

  has(id) {
    return this.#documents.has(id);
  }

  /** Choose one, or give it up. `row` is where a range begins that is chosen later. */
  toggle(document, row) {
    this.#anchor = row;
    if (!this.#documents.delete(document.id)) this.#documents.set(document.id, document);
    this.#onChange();
  }

  /** All from the row that was chosen last to this one; `at(row)` gives the document of a row. */
  extend(row, at) {
    const from = this.#anchor ?? row;
    this.#anchor ??= row;
    for (let one = Math.min(from, row); one <= Math.max(from, row); one += 1) {
      const document = at(one);
      if (document) this.#documents.set(document.id, document);
    }
    this.#onChange();
  }

  /** Where a range begins, if none has been begun yet. */
  begin(row) {
    this.#anchor ??= row;
  }

  set(documents) {
    this.#documents = new Map(documents.map((document) => [document.id, document]));
    this.#anchor = null;
    this.#onChange();
  }

  clear() {
    this.set([]);
  }

  /** Documents as they are by now. */
  renew(documents) {
    for (const document of documents) if (this.has(document.id)) this.#documents.set(document.id, document);
  }

  forget(isGone) {
    for (const id of this.#documents.keys()) if (isGone(id)) this.#documents.delete(id);
  }
}

export class SelectionLine {
  #box = el("input", { type: "checkbox", id: "select-loaded" });
  #words = el("label", { for: "select-loaded" });
  #all = el("button", { class: "text-button", type: "button" });
  #actions = el("div", { class: "selection-actions" });

  /** Each is called when it is asked for. */
  constructor({ selectLoaded, selectAll, clear, tag, remove }) {
    this.#box.addEventListener("change", () => (this.#box.checked ? selectLoaded() : clear()));
    this.#all.addEventListener("click", selectAll);
    this.#actions.append(
      el("button", { class: "button", type: "button", on: { click: tag } }, icon("tag"), "Tag"),
      el("button", { class: "button", type: "button", on: { click: remove } }, icon("trash"), "Delete"),
      el("button", { class: "text-button", type: "button", on: { click: clear } }, "Clear"),
    );
    this.element = el("div", { class: "selection-line" }, el("span", { class: "selection-box" }, this.#box), this.#words, this.#all, this.#actions);
  }

  show({ selected, loaded, total, isFiltered }) {
    this.#box.checked = selected > 0 && selected >= loaded;
    this.#box.indeterminate = selected > 0 && selected < loaded;
    this.#box.setAttribute("aria-label", selected > 0 ? "Select none" : "Select all that are loaded");
    fill(this.#words, selected > 0 ? `${count(selected, "document")} selected` : count(total, "document"));
    this.#all.hidden = selected === 0 || selected < loaded || selected >= total;
    fill(this.#all, `Select all ${count(total, "document")}${isFiltered ? " that match" : ""}`);
    this.#actions.hidden = selected === 0;
    this.element.classList.toggle("active", selected > 0);
  }
}
