// The pages of a document as they look, one at a time.

import { el, fill } from "../../kit/dom.js";
import { icon } from "../../kit/icons.js";
import { PagePicture } from "../page_picture.js";

const WIDTH = 1200;

export class PagePane {
  #document;
  #q;
  #number = 0;
  #pageCount;
  #picture = null;
  #onTurn;
  #label = el("span", { aria: { live: "polite" } });
  #previous = el("button", { class: "icon-button", type: "button", title: "Previous page ([)", aria: { label: "Previous page" } }, icon("back"));
  #next = el("button", { class: "icon-button", type: "button", title: "Next page (])", aria: { label: "Next page" } }, icon("next"));
  // It scrolls, so it can be reached by keyboard.
  #place = el("div", { class: "page-place", tabindex: 0, role: "region", aria: { label: "Page" } });

  /** `onTurn(number)` is called when another page is asked for. */
  constructor(document, { q, onTurn }) {
    this.#document = document;
    this.#q = q;
    this.#pageCount = Number(document.metadata.pages) || undefined;
    this.#onTurn = onTurn;
    this.#previous.addEventListener("click", () => this.turn(-1));
    this.#next.addEventListener("click", () => this.turn(1));
    this.element = el("section", { class: "page-pane", aria: { label: "Pages" } }, el("div", { class: "page-turner" }, this.#previous, this.#label, this.#next), this.#place);
  }

  leave() {
    this.#picture?.leave();
  }

  turn(step) {
    const number = this.#number + step;
    if (number < 1 || number > (this.#pageCount ?? 1)) return false;
    this.#onTurn(number);
    return true;
  }

  show(number) {
    if (number === this.#number) return;
    this.#number = number;
    this.leave();
    const { id, title } = this.#document;
    this.#picture = new PagePicture({ documentId: id, number, q: this.#q, title, width: WIDTH, onLoad: (pageCount) => this.#count(pageCount) });
    fill(this.#place, this.#picture.element);
    this.#count(this.#pageCount);
  }

  #count(pageCount) {
    this.#pageCount = pageCount;
    const last = pageCount ?? this.#number;
    fill(this.#label, pageCount ? `Page ${this.#number} of ${pageCount}` : `Page ${this.#number}`);
    // Not `disabled`: whoever turned to the last page by this button would lose the focus.
    this.#previous.setAttribute("aria-disabled", String(this.#number <= 1));
    this.#next.setAttribute("aria-disabled", String(this.#number >= last));
    this.element.classList.toggle("single", last === 1);
  }
}
