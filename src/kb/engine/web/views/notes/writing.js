// The field in which a note is written, with its keys for bold, italic and links.

import { el } from "../../kit/dom.js";

const WRAPS = { b: ["**", "**"], i: ["*", "*"] };

export function writingField(changed) {
  const field = el("textarea", {
    class: "input note-text", placeholder: "Write in Markdown", spellcheck: "true", aria: { label: "Text", describedby: "note-count" },
  });
  field.addEventListener("input", changed);
  field.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.isComposing) return;
    const key = event.key.toLowerCase();
    if (key in WRAPS) wrap(field, ...WRAPS[key]);
    else if (key === "k") link(field);
    else return;
    // The page's own Ctrl-K stays outside.
    event.preventDefault();
  });
  return field;
}

/** Put marks around what is selected, or take them away if they are there. */
function wrap(field, opening, closing) {
  const { selectionStart: start, selectionEnd: end, value } = field;
  const isWrapped = value.slice(0, start).endsWith(opening) && value.slice(end).startsWith(closing);
  const selected = value.slice(start, end);
  if (isWrapped) {
    field.setSelectionRange(start - opening.length, end + closing.length);
    type(field, selected);
    field.setSelectionRange(start - opening.length, end - opening.length);
  } else {
    type(field, opening + selected + closing);
    field.setSelectionRange(start + opening.length, end + opening.length);
  }
}

/** Of a selected address make its target, of any other text its label, and put the caret where the other is missing. */
function link(field) {
  const { selectionStart: start, selectionEnd: end, value } = field;
  const selected = value.slice(start, end);
  const isAddress = /^https?:\/\/\S+$/.test(selected);
  type(field, isAddress ? `[](${selected})` : `[${selected}]()`);
  const caret = isAddress || selected === "" ? start + 1 : end + 3;
  field.setSelectionRange(caret, caret);
}

/** As if it were typed, so that Undo knows of it; only this old command does that. */
function type(field, text) {
  if (document.execCommand(text ? "insertText" : "delete", false, text)) return;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new InputEvent("input"));
}
