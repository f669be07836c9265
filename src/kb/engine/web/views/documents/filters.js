// Above the list of documents: which of them, and in which order. Each change is a step that Back undoes, except typing.

import { el, fill } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { icon } from "../../kit/icons.js";
import { tellProblem } from "../../kit/notices.js";
import { offerTags, offerTypes, option, showChosenTags } from "../choices.js";
import { hasFilters, ORDERS, usualDirection } from "./criteria.js";

export class Filters {
  #words = el("input", { class: "input", type: "search", placeholder: "Title, file name or path", autocomplete: "off", spellcheck: "false", aria: { label: "Only with these words in title, file name or path" } });
  #types = el("select", { class: "select", aria: { label: "Type" } }, option("", "All types"));
  #tags = el("select", { class: "select", aria: { label: "Tag" } }, option("", "Tags"));
  #sort = el("select", { class: "select", aria: { label: "Sort by" } }, ORDERS.map(([name, label]) => option(name, label)));
  #direction = el("button", { class: "icon-button", type: "button" });
  #chosen = el("div", { class: "chips" });
  #criteria;

  /** `step(criteria)` and `type(criteria)` are called with what is then listed. */
  constructor({ step, type }) {
    const set = (change) => step({ ...this.#criteria, ...change });
    this.#words.addEventListener("input", () => type({ ...this.#criteria, q: this.#words.value }));
    this.#types.addEventListener("change", () => set({ type: this.#types.value }));
    this.#tags.addEventListener("change", () => this.#tags.value && set({ tags: [...new Set([...this.#criteria.tags, this.#tags.value])] }));
    // Whoever sorts by something else wants its usual direction first.
    this.#sort.addEventListener("change", () => set({ sort: this.#sort.value, order: usualDirection(this.#sort.value) }));
    this.#direction.addEventListener("click", () => set({ order: this.#criteria.order === "asc" ? "desc" : "asc" }));
    this.set = set;
    const sorting = el("div", { class: "sorting" }, el("span", { class: "soft small", aria: { hidden: true } }, "Sort by"), this.#sort, this.#direction);
    this.element = el("div", { class: "filters" }, this.#words, this.#types, this.#tags, this.#chosen, sorting);
  }

  async offer() {
    try {
      const [status, tags] = await Promise.all([engine.getStatus(), engine.listTags()]);
      offerTypes(this.#types, status.documents.by_type);
      offerTags(this.#tags, tags);
      this.#types.value = this.#criteria.type;
    } catch (error) {
      tellProblem(error);
    }
  }

  update(criteria) {
    this.#criteria = criteria;
    const { q, tags, type, sort, order } = criteria;
    if (this.#words.value !== q) this.#words.value = q;
    this.#types.value = type;
    this.#tags.value = "";
    this.#sort.value = sort;
    const direction = order === "asc" ? "Ascending" : "Descending";
    this.#direction.setAttribute("aria-label", `${direction}; turn round`);
    this.#direction.title = direction;
    fill(this.#direction, icon(order === "asc" ? "up" : "down"));
    const choose = (chosen) => this.set({ tags: chosen });
    const clear = hasFilters(criteria) && (() => this.set({ q: "", tags: [], type: "" }));
    showChosenTags(this.#chosen, tags, { choose, clear, next: this.#tags });
  }
}
