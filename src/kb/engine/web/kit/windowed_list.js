// A list of any length of which only the rows in view exist. The page itself scrolls; every row has the height that the
// style sheet gives as --row-height, so that where a row stands follows from its number alone.
//
// To a screen reader it is a grid that knows its length. One row can be reached by Tab, and the keys move on from there;
// it stays when it is scrolled away, since with it the focus would be gone.

import { el } from "./dom.js";

const ROWS_BEYOND = 6;

export class WindowedList {
  element;
  /** The row that has, or will get, the focus. */
  active = 0;
  #rows = new Map();
  #count = 0;
  #height = 0;
  #options;
  #frame = 0;

  /**
   * `draw(index)` gives the properties and children of a row: {properties, children}. `onShow(first, last)` is told which are
   * in view; `onMove(index, event)` when the keys or the pointer made another row the active one.
   */
  constructor({ label, draw, onShow = () => {}, onMove = () => {} }) {
    this.#options = { draw, onShow, onMove };
    this.element = el("div", { class: "windowed", role: "grid", aria: { label, multiselectable: true }, on: { keydown: this.#onKey, focusin: this.#onFocus } });
    window.addEventListener("scroll", this.#onScroll, { passive: true });
    window.addEventListener("resize", this.#onScroll);
  }

  leave() {
    cancelAnimationFrame(this.#frame);
    window.removeEventListener("scroll", this.#onScroll);
    window.removeEventListener("resize", this.#onScroll);
  }

  get count() {
    return this.#count;
  }

  set count(count) {
    this.#count = count;
    this.active = Math.max(0, Math.min(this.active, count - 1));
    this.element.setAttribute("aria-rowcount", count);
    this.redraw();
  }

  /** Draw every row in view anew. */
  redraw() {
    const hadFocus = this.hasFocus;
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
    this.#place();
    if (hadFocus) this.#rows.get(this.active)?.focus({ preventScroll: true });
  }

  /** The row that has, or will get, the focus, as it was drawn last. */
  get activeRow() {
    return this.#rows.get(this.active);
  }

  get hasFocus() {
    return this.element.contains(document.activeElement);
  }

  /** Make a row the active one, bring it into view and give it the focus. */
  focus(index = this.active) {
    if (this.#count === 0) return;
    this.#activate(Math.max(0, Math.min(index, this.#count - 1)));
    this.#scrollTo(this.active);
    this.#place();
    this.#rows.get(this.active).focus({ preventScroll: true });
  }

  /** `step` rows on, as far as there are any; false if the active row is the last one already. */
  move(step, event) {
    const before = this.active;
    this.focus(this.hasFocus ? before + step : before);
    this.#options.onMove(this.active, event);
    return this.active !== before;
  }

  /** Where the row of an element in it stands; undefined if it is in none. */
  indexOf(node) {
    const row = node.closest?.("[aria-rowindex]");
    return row && this.element.contains(row) ? Number(row.getAttribute("aria-rowindex")) - 1 : undefined;
  }

  get #rowsInView() {
    return Math.max(1, Math.floor((window.innerHeight - this.#top) / this.#height) - 1);
  }

  /** How much of the window is covered by what sticks to its top. */
  get #top() {
    return parseFloat(getComputedStyle(this.element).scrollMarginTop) || 0;
  }

  #activate(index) {
    this.#rows.get(this.active)?.setAttribute("tabindex", "-1");
    this.active = index;
    this.#rows.get(index)?.setAttribute("tabindex", "0");
  }

  #scrollTo(index) {
    const start = this.element.getBoundingClientRect().top + index * this.#height;
    // The list has no scroll bar of its own, and what stands at the foot of the page covers some of it.
    const bottom = window.innerHeight - (parseFloat(getComputedStyle(this.element).scrollMarginBottom) || 0);
    if (start < this.#top) window.scrollBy({ top: start - this.#top, behavior: "instant" });
    else if (start + this.#height > bottom) window.scrollBy({ top: start + this.#height - bottom, behavior: "instant" });
  }

  #onScroll = () => {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#place());
  };

  /** See to it that the rows in view, and a few beyond them, are there and no others. */
  #place() {
    const height = parseFloat(getComputedStyle(this.element).getPropertyValue("--row-height"));
    if (height !== this.#height) this.#reset(height);
    this.element.style.height = `${this.#count * height}px`;
    const top = -this.element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / height) - ROWS_BEYOND);
    const last = Math.min(this.#count - 1, Math.ceil((top + window.innerHeight) / height) + ROWS_BEYOND);
    const isWanted = (index) => (index >= first && index <= last) || (index === this.active && index < this.#count);
    for (const [index, row] of this.#rows) if (!isWanted(index)) this.#drop(index, row);
    this.#add([...range(first, last), this.active].filter(isWanted).sort((one, other) => one - other));
    if (last >= first) this.#options.onShow(first, last);
  }

  #reset(height) {
    this.#height = height;
    for (const [index, row] of this.#rows) this.#drop(index, row);
  }

  #drop(index, row) {
    row.remove();
    this.#rows.delete(index);
  }

  /** Rows are there in their order, so that a screen reader goes through them as the eye does. */
  #add(indexes) {
    let next = this.element.firstElementChild;
    for (const index of indexes) {
      const row = this.#rows.get(index);
      if (row) {
        next = row.nextElementSibling;
        continue;
      }
      this.element.insertBefore(this.#make(index), next);
    }
  }

  #make(index) {
    const { properties = {}, children } = this.#options.draw(index);
    const aria = { rowindex: index + 1, ...properties.aria };
    const row = el("div", { role: "row", tabindex: index === this.active ? 0 : -1, ...properties, aria }, children);
    row.style.transform = `translateY(${index * this.#height}px)`;
    this.#rows.set(index, row);
    return row;
  }

  #onFocus = (event) => {
    const index = this.indexOf(event.target);
    if (index !== undefined && index !== this.active) this.#activate(index);
  };

  #onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: this.#rowsInView, PageUp: -this.#rowsInView, Home: -this.active, End: this.#count - 1 - this.active };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.move(steps[event.key], event);
  };
}

const range = (first, last) => Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
