// Search as you type: filters, results, and a preview of the one that is looked at.

import { deleteWithTimeToUndo, deletions, isBeingDeleted, undoLastDeletion } from "../../actions/deleting.js";
import { changeTagsOf } from "../../actions/tagging.js";
import { byId, el, fill } from "../../kit/dom.js";
import { changes } from "../../kit/events.js";
import { announce, tellProblem } from "../../kit/notices.js";
import { adjust, go, placeOf } from "../../kit/router.js";
import { count } from "../../kit/wording.js";
import { criteriaParams, hasFilters, isBlank, readCriteria } from "./criteria.js";
import { Filters } from "./filters.js";
import { Preview } from "./preview.js";
import { hitPlace, Results, suggestionLine } from "./results.js";
import { PAGE_SIZE, Searching } from "./searching.js";
import { showStart } from "./start.js";

export const title = "Search";

export function show(root, place) {
  return new SearchView(root, place);
}

class SearchView {
  #searching = new Searching();
  #results = new Results((hit) => hit && this.#select(hit));
  #preview = new Preview();
  #filters = new Filters((criteria) => go("/", criteriaParams(criteria)));
  #summary = el("p", { class: "summary soft small" });
  #more = el("button", { class: "button", type: "button", hidden: true, on: { click: () => this.#showMore() } }, "More results");
  #start = el("div", {});
  #criteria = null;
  #wanted = null;
  #selected = null;
  #shownFor = null;
  #isOpening = false;
  /** How many hits the engine has given, with those that are being deleted. */
  #found = 0;

  constructor(root, place) {
    const list = el("div", { class: "found-list" }, this.#summary, this.#results.element, this.#more);
    this.found = el("div", { class: "found" }, list, this.#preview.element);
    root.append(el("h1", { class: "unseen" }, "Search"), this.#filters.element, this.found, this.#start);
    this.box = byId("query");
    this.box.addEventListener("keydown", this.#onBoxKey);
    changes.addEventListener("back", this.#again);
    deletions.addEventListener("change", this.#onDeletion);
    this.#filters.show(readCriteria(place.params));
    this.update(place);
  }

  get shortcuts() {
    return [
      { keys: "ArrowDown", does: "Next result", run: () => this.#results.move(1) },
      { keys: "ArrowUp", does: "Previous result", run: () => this.#results.move(-1) || this.box.focus() },
      { keys: "j", run: () => this.#results.move(1) },
      { keys: "k", run: () => this.#results.move(-1) },
      { keys: "Enter", does: "Open the result", run: () => false },
      { keys: "e", does: "Edit the note", run: () => this.#edit() },
      { keys: "t", does: "Change the tags", run: () => this.#tag() },
      { keys: "#", does: "Delete the document", run: () => this.#delete() },
      { keys: "Delete", run: () => this.#delete() },
      { keys: "z", does: "Take back what was deleted", run: () => undoLastDeletion() },
    ];
  }

  update({ params }) {
    const criteria = readCriteria(params);
    this.#wanted = Number(params.get("at")) || null;
    if (JSON.stringify(criteria) === JSON.stringify(this.#criteria)) return;
    this.#criteria = criteria;
    this.#isOpening = false;
    this.#filters.update(criteria);
    this.#search();
  }

  leave() {
    this.#searching.stop();
    this.#preview.leave();
    this.box.removeEventListener("keydown", this.#onBoxKey);
    changes.removeEventListener("back", this.#again);
    deletions.removeEventListener("change", this.#onDeletion);
  }

  #again = () => {
    this.#filters.show(this.#criteria);
    this.#search();
  };

  #search() {
    const blank = isBlank(this.#criteria);
    this.found.hidden = blank;
    this.#start.hidden = !blank;
    this.#filters.element.hidden = blank && !hasFilters(this.#criteria);
    if (blank) {
      this.#searching.stop();
      // Keys are for what is seen: what was found before must not be deleted by one.
      this.#results.show([], "");
      this.#select(null);
      showStart(this.#start);
      return;
    }
    this.#searching.start(this.#criteria, {
      onAnswer: (answer, { isFinal }) => this.#show(answer, isFinal),
      onProblem: (error) => fill(this.#summary, el("span", { class: "bad-text", role: "alert" }, error.message)),
    });
  }

  #show(answer, isFinal) {
    const results = answer.results.filter((hit) => !isBeingDeleted(hit.document_id));
    // Words alone may find nothing where meaning does: until both have spoken, what was found before stays.
    if (!isFinal && results.length === 0) return;
    this.#results.show(results, this.#criteria.q);
    this.#found = answer.results.length;
    this.#more.hidden = !isFinal || isAll(results, this.#found, answer.total);
    const told = results.length === 0 ? "Nothing found" : `The best of ${count(answer.total, "candidate")}, in ${Math.round(answer.took_ms)} ms`;
    const take = (q) => {
      this.box.focus();
      go("/", criteriaParams({ ...this.#criteria, q }));
    };
    const degraded = answer.degraded && el("span", {}, ` · ${howDegraded(results)}`);
    const onMap = el("a", { href: placeOf("/map", { q: this.#criteria.q }) }, "On the map");
    fill(this.#summary, told, degraded, suggestionLine(answer.suggestion, take), results.length > 0 && [" · ", onMap]);
    if (isFinal) announce(results.length === 0 ? "Nothing found" : count(results.length, "result"));
    const wanted = results.find((hit) => hit.chunk_id === this.#wanted);
    this.#select(wanted ?? results[0] ?? null);
    this.#shownFor = this.#criteria.q;
    this.#openIfThere();
    if (wanted && isFinal && document.activeElement !== this.box) this.#focus(wanted);
  }

  async #showMore() {
    const from = this.#found;
    try {
      const { results, total } = await this.#searching.more(this.#criteria, from);
      // Pressed twice, the first answer is enough.
      if (from !== this.#found) return;
      this.#found += results.length;
      const hits = results.filter((hit) => !isBeingDeleted(hit.document_id));
      this.#results.add(hits);
      this.#more.hidden = results.length === 0 || isAll(results, this.#found, total);
      if (this.#more.hidden && hits.length > 0 && document.activeElement === document.body) this.#focus(hits[0]);
    } catch (error) {
      tellProblem(error);
    }
  }

  #select(hit) {
    this.#selected = hit;
    this.#results.select(hit);
    this.#preview.show(hit, this.#criteria.q);
    if (hit && this.#results.element.contains(document.activeElement)) {
      this.#wanted = hit.chunk_id;
      adjust("/", { ...criteriaParams(this.#criteria), at: hit.chunk_id });
    }
  }

  #focus(hit) {
    this.#results.links.find((link) => Number(link.dataset.chunk) === hit.chunk_id)?.focus();
  }

  #onBoxKey = (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" && this.#results.move(1)) event.preventDefault();
    if (event.key === "Enter" && !isBlank(this.#criteria)) {
      event.preventDefault();
      this.#isOpening = true;
      this.#openIfThere();
    }
  };

  /** Whoever types and presses Enter at once means what will be found, and not what was found before. */
  #openIfThere() {
    if (!this.#isOpening || this.#shownFor !== this.#criteria.q || !this.#selected) return;
    this.#isOpening = false;
    location.hash = hitPlace(this.#selected, this.#criteria.q);
  }

  #edit() {
    if (this.#selected?.doc_type === "note") go(`/notes/${this.#selected.document_id}/edit`);
    else announce("Only notes can be edited.");
  }

  async #tag() {
    if (!this.#selected) return;
    const { document_id: id, tags } = this.#selected;
    if (await changeTagsOf([{ id, tags }])) this.#search();
  }

  #delete() {
    if (!this.#selected) return;
    const { document_id: id } = this.#selected;
    // Whoever is in the list stays in it, at the next hit.
    if (this.#results.element.contains(document.activeElement)) this.#results.move(1) || this.#results.move(-1);
    deleteWithTimeToUndo([{ id }]);
  }

  #onDeletion = () => {
    const { hits } = this.#results;
    const left = hits.filter((hit) => !isBeingDeleted(hit.document_id));
    // What was taken back has to be found again. Else only those go, and whoever is far down the list stays there.
    if (left.length === hits.length || left.length === 0) return this.#search();
    this.#results.show(left, this.#criteria.q);
    if (!left.includes(this.#selected)) this.#select(left[0]);
  };
}

/** By which of the two ways the engine has searched, if it was one alone. */
function howDegraded(results) {
  const byMeaning = results.length > 0 && results.every((hit) => hit.scores.fts === null);
  return byMeaning ? "by meaning only: these words are in too many documents" : "by keyword only; the status tells why";
}

/** Whether there are no more hits. There may be more than `total`, and a page of very large hits ends early. */
function isAll(results, found, total) {
  return results.length < PAGE_SIZE && found >= total;
}
