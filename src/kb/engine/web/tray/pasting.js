// What is pasted into the page: a picture or files are added, text becomes a note. Text that is pasted into a field is the field's.

import { isTyping } from "../kit/shortcuts.js";
import { additions } from "./additions.js";
import { pastedName } from "./naming.js";
import { writeNoteOf } from "./texts.js";

export function startPasting() {
  document.addEventListener("paste", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const files = [...event.clipboardData.files];
    const text = event.clipboardData.getData("text/plain");
    // A copied cell or paragraph may come as text and as its picture: in a field it is meant as text.
    if (isTyping(event.target) && (text || files.length === 0)) return;
    event.preventDefault();
    if (files.length > 0) additions.add(files.map((file) => ({ file, name: nameOf(file) })));
    else if (text.trim()) writeNoteOf(text);
  });
}

/** Browsers call every pasted picture image.png. */
function nameOf({ name }) {
  const [, ending] = name.match(/^image\.(\w+)$/) ?? [];
  return ending ? pastedName(ending) : name;
}
