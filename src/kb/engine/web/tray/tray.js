// The tray at the edge of the page: files on their way into the base, one row each.

import { byId, el, fill } from "../kit/dom.js";
import { icon } from "../kit/icons.js";
import { announce } from "../kit/notices.js";
import { progressBar, showFraction } from "../kit/progress.js";
import { count } from "../kit/wording.js";
import { additions } from "./additions.js";
import { chooseFiles, chooseFolder } from "./choosing.js";
import { startDropping } from "./dropping.js";
import { startPasting } from "./pasting.js";
import { Row } from "./row.js";
import { isOver, tellAll, tellUnshown } from "./telling.js";
import { trayTags } from "./tray_tags.js";

// With more, only those are shown that something is going on with.
const MOST_ROWS = 100;
const DRAW_EVERY_MS = 120;

export function startTray() {
  new Tray(byId("tray"));
  startDropping();
  startPasting();
  window.addEventListener("beforeunload", (event) => additions.isSending && event.preventDefault());
}

class Tray {
  #root;
  #summary = el("span", { class: "tray-summary" });
  #bar = progressBar("All files");
  #rows = el("ul", { class: "tray-rows", aria: { label: "Files" } });
  #unshown = el("p", { class: "tray-unshown soft small" });
  #body = el("div", { id: "tray-body" });
  #fold = this.#button("next", "Fold the tray", () => this.#setFolded(!this.#body.hidden));
  #close = this.#button("close", "Close the tray", () => this.#clear());
  #cancelAll = this.#textButton("Cancel all", () => additions.cancelAll());
  #retryAll = this.#textButton("Try all again", () => additions.retryAll());
  #clearDone = this.#textButton("Clear finished", () => this.#clear());
  #tags = trayTags(additions);
  #drawn = new Map();
  #timer = 0;
  #wasOver = true;

  constructor(root) {
    this.#root = root;
    root.className = "tray card";
    root.hidden = true;
    this.#fold.setAttribute("aria-controls", "tray-body");
    this.#fold.setAttribute("aria-expanded", "true");
    const more = [this.#textButton("Add files", chooseFiles), this.#textButton("Add a folder", chooseFolder)];
    fill(this.#body, this.#rows, this.#unshown, this.#tags.element, el("div", { class: "tray-buttons" }, more, this.#cancelAll, this.#retryAll, this.#clearDone));
    fill(root, el("div", { class: "tray-top" }, this.#summary, this.#fold, this.#close), this.#bar, this.#body);
    additions.addEventListener("change", () => (this.#timer ||= setTimeout(() => this.#draw(), this.#drawn.size ? DRAW_EVERY_MS : 0)));
    // Notices stand above it.
    new ResizeObserver(() => document.documentElement.style.setProperty("--tray-height", `${root.offsetHeight}px`)).observe(root);
  }

  #draw() {
    this.#timer = 0;
    const { list } = additions;
    const told = tellAll(list);
    const over = isOver(list);
    this.#root.hidden = list.length === 0;
    this.#summary.textContent = told.words;
    this.#bar.hidden = over;
    showFraction(this.#bar, told.fraction);
    this.#drawRows(list);
    this.#tags.draw();
    this.#show(this.#close, over);
    this.#show(this.#cancelAll, !over);
    this.#show(this.#retryAll, told.failed > 1);
    this.#show(this.#clearDone, !over && told.finished > 0);
    if (over !== this.#wasOver) announce(over ? told.words : `${count(list.length, "file")} to add.`);
    this.#wasOver = over;
  }

  #drawRows(list) {
    const isShown = list.length <= MOST_ROWS ? () => true : ({ state }) => ["sending", "working", "failed"].includes(state);
    const shown = list.filter(isShown).slice(0, MOST_ROWS);
    const rows = new Map(shown.map((addition) => [addition, this.#drawn.get(addition) ?? new Row(addition, additions)]));
    for (const [addition, row] of this.#drawn) if (!rows.has(addition)) row.element.remove();
    this.#drawn = rows;
    let place = this.#rows.firstElementChild;
    for (const row of rows.values()) {
      // Only what is not where it belongs is moved: a moved element loses the focus.
      if (row.element === place) place = place.nextElementSibling;
      else this.#rows.insertBefore(row.element, place);
      row.update();
    }
    this.#unshown.textContent = tellUnshown(list, shown);
    // With no row at all it would only say again what stands on top.
    this.#unshown.hidden = shown.length === list.length || shown.length === 0;
  }

  #clear() {
    additions.clear();
    byId("content").focus({ preventScroll: true });
  }

  #setFolded(folded) {
    this.#body.hidden = folded;
    this.#fold.setAttribute("aria-expanded", String(!folded));
    this.#fold.setAttribute("aria-label", folded ? "Unfold the tray" : "Fold the tray");
  }

  /** A button that goes hands the focus on, not to nobody. */
  #show(button, isShown) {
    if (!isShown && document.activeElement === button) this.#fold.focus();
    button.hidden = !isShown;
  }

  #button(name, label, click) {
    return el("button", { class: "icon-button", type: "button", title: label, aria: { label }, on: { click } }, icon(name));
  }

  #textButton(label, click) {
    return el("button", { class: "text-button", type: "button", on: { click } }, label);
  }
}
