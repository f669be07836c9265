// A bar that shows how far something is.

import { el } from "./dom.js";

/** `label` says what it is the progress of. */
export function progressBar(label, fraction = 0) {
  const bar = el("span", { class: "progress", role: "progressbar", aria: { label } }, el("span", {}));
  showFraction(bar, fraction);
  return bar;
}

export function showFraction(bar, fraction) {
  const percent = Math.round(fraction * 100);
  bar.firstElementChild.style.width = `${percent}%`;
  bar.setAttribute("aria-valuenow", percent);
}
