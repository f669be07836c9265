// What is known of a document besides its text: a table that opens, and the dialog in which its metadata are changed.

import { ask } from "../../kit/dialogs.js";
import { el } from "../../kit/dom.js";
import { at, bytes, count, typeName } from "../../kit/wording.js";

const METHODS = { text_extraction: "Text was there", ocr: "Text was read from pictures (OCR)", image_analysis: "Text and facts of a picture" };

/** `edit()` is called when the metadata are to be changed. */
export function aboutDocument(document, { isOpen, edit }) {
  const facts = [
    ["Type", typeName(document.doc_type)],
    ["File name", document.filename],
    ["Source", document.source_path],
    ["Size", bytes(document.size_bytes)],
    ["Added", at(document.created_at)],
    ["Changed", document.updated_at && at(document.updated_at)],
    ["How it was read", METHODS[document.processing_method] ?? document.processing_method],
    ["Chunks", String(document.chunk_count)],
    ["Version", String(document.version)],
    ["Number", String(document.id)],
    ["Content", document.content_hash],
  ].filter(([, value]) => value);
  const metadata = Object.entries(document.metadata);
  return el(
    "details",
    { class: "about card", open: isOpen },
    el("summary", { data: { act: "about" } }, "About this document"),
    definitions(facts),
    el("div", { class: "about-head" }, el("h2", {}, "Metadata"), el("button", { class: "text-button", type: "button", data: { act: "metadata" }, on: { click: edit } }, "Change")),
    metadata.length > 0 ? definitions(metadata.map(([name, value]) => [name, inWords(value)])) : el("p", { class: "soft small" }, "There are none."),
  );
}

const definitions = (pairs) => el("dl", { class: "definitions" }, pairs.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

const inWords = (value) => (typeof value === "string" ? value : JSON.stringify(value));

export const factsOf = (document) =>
  [bytes(document.size_bytes), document.metadata.pages && count(Number(document.metadata.pages), "page"), document.version > 1 && `version ${document.version}`].filter(Boolean);

/** Ask for other metadata; resolves with them, or with null. */
export function askForMetadata(metadata) {
  const input = el("textarea", { id: "metadata", class: "input mono", rows: 14, spellcheck: "false", value: JSON.stringify(metadata, null, 2), aria: { describedby: "metadata-hint" } });
  const check = () => input.setCustomValidity(parseMetadata(input.value) ? "" : "This is not a JSON object.");
  input.addEventListener("input", check);
  const hint = el("p", { class: "hint", id: "metadata-hint" }, "A JSON object: names in quotes, with any values.");
  const body = el("div", { class: "field" }, el("label", { for: "metadata" }, "Metadata"), input, hint);
  return ask({ title: "Change the metadata", body, submit: "Save", read: () => parseMetadata(input.value) });
}

function parseMetadata(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
