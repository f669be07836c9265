// The filters below the search box: type, tags, when it was added. Each change is a step that Back undoes.

import { el } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { tellProblem } from "../../kit/notices.js";
import { offerTags, offerTypes, showChosenTags } from "../choices.js";
import { hasFilters } from "./criteria.js";

export class Filters {
  element = el("div", { class: "filters" });
  #types = el("select", { class: "select", aria: { label: "Type" } });
  #tags = el("select", { class: "select", aria: { label: "Tag" } });
  #from = el("input", { class: "input", type: "date", aria: { label: "Added on or after" } });
  #to = el("input", { class: "input", type: "date", aria: { label: "Added on or before" } });
  #chosen = el("div", { class: "chips" });
  #criteria = null;
  #change;

  /** `change(criteria)` is called with what is then searched for. */
  constructor(change) {
    this.#change = change;
    this.#types.addEventListener("change", () => this.#set({ type: this.#types.value }));
    this.#tags.addEventListener("change", () => this.#tags.value && this.#set({ tags: [...new Set([...this.#criteria.tags, this.#tags.value])] }));
    this.#from.addEventListener("change", () => isWhole(this.#from.value) && this.#set({ from: this.#from.value }));
    this.#to.addEventListener("change", () => isWhole(this.#to.value) && this.#set({ to: this.#to.value }));
    const dates = el("span", { class: "dates" }, "Added ", this.#from, " to ", this.#to);
    this.element.append(this.#types, this.#tags, dates, this.#chosen);
  }

  async show(criteria) {
    this.#criteria = criteria;
    this.#showChosen();
    try {
      const [status, tags] = await Promise.all([engine.getStatus(), engine.listTags()]);
      this.#offer(status.documents.by_type, tags);
    } catch (error) {
      tellProblem(error);
    }
  }

  update(criteria) {
    this.#criteria = criteria;
    this.#showChosen();
  }

  #set(change) {
    this.#change({ ...this.#criteria, ...change });
  }

  #offer(byType, tags) {
    offerTypes(this.#types, byType);
    offerTags(this.#tags, tags);
    this.#showChosen();
  }

  #showChosen() {
    const { tags, type, from, to } = this.#criteria;
    this.#types.value = type;
    this.#tags.value = "";
    this.#from.value = from;
    this.#to.value = to;
    const choose = (chosen) => this.#set({ tags: chosen });
    const clear = hasFilters(this.#criteria) && (() => this.#set({ tags: [], type: "", from: "", to: "" }));
    showChosenTags(this.#chosen, tags, { choose, clear, next: this.#tags });
  }
}

/** While a year is typed, browsers tell of the years 2, 20 and 202 as well. */
const isWhole = (date) => date === "" || date >= "1000";
