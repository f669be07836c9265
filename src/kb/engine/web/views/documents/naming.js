// The title of a document, which is changed where it stands.

import { el, fill } from "../../kit/dom.js";
import { icon } from "../../kit/icons.js";

const MAX_TITLE = 500;

export class Naming {
  element = el("div", { class: "naming" });
  #title = "";
  #isEditing = false;
  #save;

  /** `save(title)` resolves with true if the document has that title then. */
  constructor(save) {
    this.#save = save;
  }

  show(title) {
    // Drawn anew, whoever is on its button would lose the focus.
    if (title === this.#title && !this.#isEditing && this.element.hasChildNodes()) return;
    this.#title = title;
    if (this.#isEditing) return;
    this.#draw(title);
  }

  #draw(title) {
    const rename = el("button", { class: "icon-button", type: "button", title: "Rename (r)", aria: { label: "Rename" }, on: { click: () => this.edit() } }, icon("note"));
    fill(this.element, el("h1", { tabindex: -1 }, title), rename);
  }

  edit() {
    if (this.#isEditing) return;
    this.#isEditing = true;
    const input = el("input", { class: "input", value: this.#title, maxlength: MAX_TITLE, required: true, aria: { label: "Title" } });
    const cancel = el("button", { class: "text-button", type: "button", on: { click: () => this.#stop() } }, "Cancel");
    const submit = async (event) => {
      event.preventDefault();
      if (await this.#save(input.value.trim())) this.#stop(input.value.trim());
    };
    const form = el("form", { class: "naming-form", on: { submit } }, input, el("button", { class: "button primary", type: "submit" }, "Save"), cancel);
    form.addEventListener("keydown", (event) => event.key === "Escape" && this.#stop());
    fill(this.element, form);
    input.select();
  }

  #stop(title = this.#title) {
    this.#isEditing = false;
    this.#title = title;
    this.#draw(title);
    this.element.querySelector("button").focus();
  }
}
