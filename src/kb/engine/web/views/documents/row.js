// One row of the list: what a document is called, and what is known of it.

import { el } from "../../kit/dom.js";
import { placeOf } from "../../kit/router.js";
import { ago, at, bytes, typeName } from "../../kit/wording.js";

const SHOWN_TAGS = 3;

/** The properties and children of a row, for the windowed list. */
export function drawRow(document, { isSelected, sort }) {
  if (!document) return { properties: { class: "document-row", aria: { busy: true } }, children: skeleton() };
  const box = el("input", { type: "checkbox", class: "row-box", tabindex: -1, checked: isSelected, aria: { label: `Select ${document.title}` } });
  const when = sort === "date_added" ? document.created_at : (document.updated_at ?? document.created_at);
  const children = [
    cell("box-cell", box),
    cell(
      "title-cell",
      el("a", { class: "row-title", href: placeOf(`/documents/${document.id}`), tabindex: -1 }, document.title),
      el("span", { class: "row-path" }, sort === "filename" ? document.filename : (document.source_path ?? document.filename)),
    ),
    cell("tags-cell", tags(document.tags)),
    cell("type-cell", el("span", { class: "type" }, typeName(document.doc_type))),
    cell("size-cell", bytes(document.size_bytes)),
    cell("when-cell", el("time", { datetime: when, title: at(when) }, ago(when))),
  ];
  const name = isSelected ? "document-row selected" : "document-row";
  return { properties: { class: name, data: { document: document.id }, aria: { selected: isSelected } }, children };
}

const cell = (name, ...children) => el("div", { class: name, role: "gridcell" }, children);

function tags(names) {
  const chips = names.slice(0, SHOWN_TAGS).map((name) => el("span", { class: "chip" }, name));
  if (names.length > SHOWN_TAGS) chips.push(el("span", { class: "soft small", title: names.slice(SHOWN_TAGS).join(", ") }, `+${names.length - SHOWN_TAGS}`));
  return chips;
}

function skeleton() {
  const bar = (name) => el("span", { class: `skeleton ${name}` });
  return [cell("box-cell"), cell("title-cell", bar("long"), el("span", { class: "unseen" }, "Loading")), cell("tags-cell"), cell("type-cell", bar("short")), cell("size-cell"), cell("when-cell", bar("short"))];
}
