// Files, chosen in the browser's own dialog.

import { el } from "../kit/dom.js";
import { additions } from "./additions.js";
import { filesOfFolder } from "./folders.js";

export function chooseFiles() {
  open({ multiple: true }, (files) => [...files].map((file) => ({ file })));
}

export function chooseFolder() {
  open({ webkitdirectory: true }, filesOfFolder);
}

let chooser = null;

function open(properties, read) {
  chooser?.remove();
  const take = () => additions.add(read(chooser.files));
  chooser = el("input", { type: "file", hidden: true, aria: { label: "Files to add" }, on: { change: take }, ...properties });
  // In the page, so that it lives for as long as the dialog is open.
  document.body.append(chooser);
  chooser.click();
}
