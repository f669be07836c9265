// A button that opens a few others. It closes when one of them was pressed, and when the focus goes elsewhere.

import { el } from "./dom.js";

/** `items` are [{label, run}]. */
export function menu(label, items) {
  const list = items.map((item) => el("button", { class: "menu-item", type: "button", on: { click: () => choose(item) } }, item.label));
  const summary = el("summary", { class: "button" }, label);
  const element = el("details", { class: "menu" }, summary, el("div", { class: "menu-items card" }, list));
  const choose = (item) => {
    close();
    item.run();
  };
  const close = () => {
    const hadFocus = element.contains(document.activeElement);
    element.open = false;
    if (hadFocus) summary.focus();
  };
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    event.preventDefault();
    close();
  });
  element.addEventListener("focusout", (event) => {
    if (!element.contains(event.relatedTarget)) element.open = false;
  });
  return element;
}
