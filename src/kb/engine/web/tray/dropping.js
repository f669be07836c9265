// Things dropped anywhere on the page. A veil tells beforehand what will become of them.

import { byId, el, fill } from "../kit/dom.js";
import { icon } from "../kit/icons.js";
import { notify } from "../kit/notices.js";
import { isTyping } from "../kit/shortcuts.js";
import { count } from "../kit/wording.js";
import { additions } from "./additions.js";
import { entriesOf, readEntries } from "./folders.js";
import { writeNoteOf } from "./texts.js";

let isOurOwn = false;

export function startDropping() {
  // What is dragged inside the page comes from it: a link, a marked text.
  document.addEventListener("dragstart", () => (isOurOwn = true));
  document.addEventListener("dragend", () => (isOurOwn = false));
  // What was dragged may be drawn anew meanwhile, and then tells of no end. A pointer that moves drags nothing.
  document.addEventListener("pointermove", () => (isOurOwn = false), { passive: true });
  document.addEventListener("dragenter", offer);
  document.addEventListener("dragover", offer);
  document.addEventListener("dragleave", (event) => event.relatedTarget === null && hideVeil());
  document.addEventListener("drop", takeDrop);
}

/** "files", "text", or null if it is not for us. */
function kindOf({ dataTransfer, target }) {
  if (isOurOwn || !dataTransfer) return null;
  if (dataTransfer.types.includes("Files")) return "files";
  return dataTransfer.types.includes("text/plain") && !isTyping(target) ? "text" : null;
}

function offer(event) {
  const kind = kindOf(event);
  if (!kind) return hideVeil();
  event.preventDefault();
  const isAsked = document.querySelector("dialog[open]") !== null;
  event.dataTransfer.dropEffect = isAsked ? "none" : "copy";
  if (!isAsked && event.type === "dragenter") showVeil(kind, event.dataTransfer.items.length);
}

async function takeDrop(event) {
  const kind = kindOf(event);
  hideVeil();
  if (!kind) return;
  // Else the browser leaves the page to show the file.
  event.preventDefault();
  if (document.querySelector("dialog[open]")) return;
  if (kind === "text") writeNoteOf(event.dataTransfer.getData("text/plain"));
  else await takeFiles(entriesOf(event.dataTransfer));
}

async function takeFiles(entries) {
  const { found, unreadable } = await readEntries(entries, (files) => additions.add(files));
  if (unreadable > 0) notify(`${count(unreadable, "file or folder", "files or folders")} could not be read.`, { kind: "bad" });
  else if (found === 0) notify("There is nothing in it to add. Hidden files are left out.");
}

function showVeil(kind, items) {
  const words =
    kind === "text"
      ? ["Drop to write a note of this text", "You can change it before it is saved."]
      : [`Drop to add ${items > 1 ? `these ${items}` : "it"} to the knowledge base`, "Of folders, everything in them; hidden files are left out."];
  const veil = byId("veil") ?? el("div", { id: "veil", class: "veil" });
  fill(veil, el("div", { class: "veil-words" }, icon(kind === "text" ? "note" : "upload"), el("strong", {}, words[0]), el("span", {}, words[1])));
  document.body.append(veil);
}

function hideVeil() {
  byId("veil")?.remove();
}
