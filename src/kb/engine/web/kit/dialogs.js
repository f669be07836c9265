// Questions that have to be answered first.

import { el } from "./dom.js";

/**
 * Show a dialog with these children in a form; resolves with what `read(form)` gives when it is submitted, and with null when it
 * is dismissed. A dialog that `must` be answered cannot be dismissed.
 */
export function ask({ title, body, submit, danger = false, must = false, read = () => true }) {
  return new Promise((resolve) => {
    const heading = el("h2", { id: "dialog-title" }, title);
    const close = () => dialog.close();
    const buttons = el(
      "div",
      { class: "dialog-buttons" },
      !must && el("button", { type: "button", class: "button", on: { click: close } }, submit ? "Cancel" : "Close"),
      submit && el("button", { type: "submit", class: danger ? "button danger" : "button primary" }, submit),
    );
    const form = el("form", { method: "dialog" }, heading, body, buttons);
    const dialog = el("dialog", { aria: { labelledby: "dialog-title" } }, form);
    let answer = null;
    form.addEventListener("submit", () => (answer = read(form)));
    dialog.addEventListener("cancel", (event) => must && event.preventDefault());
    // Whoever goes elsewhere has not answered, and an answer would be for what is no longer shown.
    if (!must) window.addEventListener("popstate", close);
    dialog.addEventListener("close", () => {
      // Browsers let nobody be kept from closing it with a second Escape.
      if (must && answer === null) return dialog.showModal();
      window.removeEventListener("popstate", close);
      dialog.remove();
      return resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
