// Short notices at the edge of the page, and words for a screen reader alone.

import { byId, el } from "./dom.js";
import { icon } from "./icons.js";

const SHOWN_MS = 6000;

export function announce(text) {
  const announcer = byId("announcer");
  // The same words twice are only read twice if they were gone in between.
  announcer.textContent = "";
  requestAnimationFrame(() => (announcer.textContent = text));
}

/** Tell that something could not be done. */
export function tellProblem(error) {
  if (error.name === "AbortError") return;
  notify(error.message, { kind: "bad" });
}

/**
 * Show a notice for a while. With `action` ({label, run}) there is a button; a notice that waits for it may say
 * `forMs`. Returns a function that takes the notice away.
 */
export function notify(text, { kind = "plain", action, forMs = SHOWN_MS } = {}) {
  const notice = el("div", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : "status" }, el("span", {}, text));
  const remove = () => {
    clearTimeout(timer);
    const hadFocus = notice.contains(document.activeElement);
    notice.remove();
    if (hadFocus) byId("content").focus({ preventScroll: true });
  };
  const timer = setTimeout(remove, forMs);
  if (action) {
    const run = () => {
      remove();
      action.run();
    };
    notice.append(el("button", { class: "text-button", type: "button", on: { click: run } }, action.label));
  }
  notice.append(el("button", { class: "icon-button", type: "button", aria: { label: "Dismiss" }, on: { click: remove } }, icon("close")));
  byId("notices").append(notice);
  return remove;
}
