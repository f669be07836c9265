// What stands above the text of a document: its name, tags, and what can be done with it.

import { downloadOriginal } from "../../actions/downloading.js";
import { copyText } from "../../kit/copying.js";
import { el, fill, keepFocus } from "../../kit/dom.js";
import { icon } from "../../kit/icons.js";
import { menu } from "../../kit/menus.js";
import { placeOf } from "../../kit/router.js";
import { ago, at, typeName } from "../../kit/wording.js";
import { aboutDocument, factsOf } from "./about.js";
import { Naming } from "./naming.js";

export class Head {
  element = el("header", { class: "document-head" });
  #naming;
  #does;
  #facts = el("p", { class: "soft small document-facts" });
  #tags = el("div", { class: "chips" });
  #actions = el("div", { class: "chips document-actions" });
  #about = el("div", {});

  /** `does` has what can be done: rename(title), changeTags, editMetadata, remove, and the page that is looked at. */
  constructor(does) {
    this.#does = does;
    this.#naming = new Naming(does.rename);
    const back = el("a", { class: "back-link small", href: placeOf("/documents") }, icon("back"), "Documents");
    this.element.append(back, this.#naming.element, this.#facts, this.#tags, this.#actions, this.#about);
  }

  rename() {
    this.#naming.edit();
  }

  show(document) {
    this.#naming.show(document.title);
    const changed = document.updated_at ?? document.created_at;
    const when = el("time", { datetime: changed, title: at(changed) }, `${document.updated_at ? "changed" : "added"} ${ago(changed)}`);
    fill(this.#facts, el("span", { class: "type" }, typeName(document.doc_type)), factsOf(document).map((fact) => el("span", {}, fact)), when);
    const change = el("button", { class: "text-button", type: "button", data: { act: "tags" }, title: "Change the tags (t)", on: { click: this.#does.changeTags } }, document.tags.length > 0 ? "Change tags" : "Add tags");
    const tags = document.tags.map((tag) => el("a", { class: "chip", href: placeOf("/documents", { tag }) }, tag));
    keepFocus(this.#tags, "act", () => fill(this.#tags, tags, change));
    const isOpen = this.#about.firstElementChild?.open ?? false;
    keepFocus(this.#about, "act", () => fill(this.#about, aboutDocument(document, { isOpen, edit: this.#does.editMetadata })));
    // The buttons are the same for every version of a document, and one of them may have the focus.
    if (!this.#actions.hasChildNodes()) this.#actions.append(...this.#buttons(document));
    this.#document = document;
  }

  #document = null;

  #buttons({ id, doc_type: type }) {
    const link = (path, name, label) => el("a", { class: "button", href: placeOf(path) }, icon(name), label);
    const notes = type === "note" ? [link(`/notes/${id}/edit`, "note", "Edit"), link(`/notes/${id}/history`, "history", "History")] : [];
    const copies = [
      { label: "Citation", run: () => copyText(citation(this.#document, this.#does.page()), "The citation is copied.") },
      { label: `Command: kb get ${id}`, run: () => copyText(`kb get ${id}`, "The command is copied.") },
      { label: "JSON", run: () => copyText(JSON.stringify(this.#document, null, 2), "The JSON is copied.") },
    ];
    return [
      ...notes,
      el("button", { class: "button", type: "button", on: { click: () => downloadOriginal(this.#document) } }, icon("download"), "Download"),
      menu([icon("copy"), "Copy"], copies),
      el("button", { class: "button", type: "button", on: { click: this.#does.remove } }, icon("trash"), "Delete"),
    ];
  }
}

function citation(document, page) {
  const source = document.source_path ?? document.filename;
  return `${[document.title, page && `page ${page}`].filter(Boolean).join(", ")} (${source}; kb document ${document.id})`;
}
