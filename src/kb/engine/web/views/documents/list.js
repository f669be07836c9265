// All documents: sorted, filtered, chosen, tagged and deleted, however many they are.

import { deleteWithTimeToUndo, deletions, isBeingDeleted, undoLastDeletion } from "../../actions/deleting.js";
import { changeTagsOf } from "../../actions/tagging.js";
import { el, fill } from "../../kit/dom.js";
import { changes } from "../../kit/events.js";
import { announce, tellProblem } from "../../kit/notices.js";
import { adjust, go, placeOf } from "../../kit/router.js";
import { count } from "../../kit/wording.js";
import { WindowedList } from "../../kit/windowed_list.js";
import { criteriaParams, hasFilters, readCriteria } from "./criteria.js";
import { Filters } from "./filters.js";
import { Listing } from "./listing.js";
import { drawRow } from "./row.js";
import { Selection, SelectionLine } from "./selection.js";

export const title = "Documents";

const LIVE = ["document_added", "document_changed", "document_deleted", "everything_deleted", "missed", "back"];
// While many are added, the list is not fetched anew for each of them.
const REFRESH_AFTER_MS = 400;

export function show(root, place) {
  return new DocumentsView(root, place);
}

class DocumentsView {
  #criteria = null;
  #listing = null;
  #returnTo;
  #refreshing = 0;
  #announced = null;
  #selection = new Selection(() => this.#draw());
  #list = new WindowedList({
    label: "Documents",
    draw: (row) => this.#drawRow(row),
    onShow: (first, last) => this.#listing?.want(first, last),
    onMove: (row, event) => event?.shiftKey && this.#selection.extend(row, (one) => this.#listing.at(one)),
  });
  #filters = new Filters({
    step: (criteria) => go("/documents", criteriaParams(criteria)),
    type: (criteria) => adjust("/documents", criteriaParams(criteria)),
  });
  #line = new SelectionLine({
    selectLoaded: () => this.#selection.set(this.#listing.loaded),
    selectAll: () => this.#selectAll(),
    clear: () => this.#selection.clear(),
    tag: () => this.#tag(),
    remove: () => this.#delete(),
  });
  #told = el("div", {});

  constructor(root, place) {
    root.append(
      el("div", { class: "view-head" }, el("h1", {}, "Documents"), el("span", { class: "keys-hint soft small" }, el("kbd", {}, "?"), " for keys")),
      this.#filters.element, this.#line.element, this.#list.element, this.#told,
    );
    this.#list.element.addEventListener("click", this.#onClick);
    for (const event of LIVE) changes.addEventListener(event, this.#refreshSoon);
    changes.addEventListener("back", this.#offer);
    deletions.addEventListener("change", this.#sift);
    this.#returnTo = Number(place.params.get("at") ?? NaN);
    this.update(place);
    this.#filters.offer();
  }

  get shortcuts() {
    const extend = (step) => (event) => {
      this.#selection.begin(this.#list.active);
      this.#list.move(step, event);
    };
    return [
      { keys: "ArrowDown", does: "Next document", run: () => this.#list.move(1) },
      { keys: "ArrowUp", does: "Previous document", run: () => this.#list.move(-1) },
      { keys: "j", run: () => this.#list.move(1) },
      { keys: "k", run: () => this.#list.move(-1) },
      { keys: "Shift+ArrowDown", does: "Select a range", run: extend(1) },
      { keys: "Shift+ArrowUp", run: extend(-1) },
      { keys: "Enter", does: "Open the document", run: () => this.#list.hasFocus && this.#open() },
      { keys: " ", does: "Select it, or not", run: () => this.#list.hasFocus && this.#toggle() },
      { keys: "x", run: () => this.#toggle() },
      { keys: "t", does: "Change the tags", run: () => this.#tag() },
      { keys: "e", does: "Edit the note", run: () => this.#edit() },
      { keys: "#", does: "Delete", run: () => this.#delete() },
      { keys: "Delete", run: () => this.#delete() },
      { keys: "z", does: "Take back what was deleted", run: () => undoLastDeletion() },
      { keys: "Escape", does: "Select none", run: () => this.#selection.clear() },
    ];
  }

  update({ params }) {
    const criteria = readCriteria(params);
    if (JSON.stringify(criteria) === JSON.stringify(this.#criteria)) return;
    const isFirst = this.#criteria === null;
    this.#criteria = criteria;
    this.#filters.update(criteria);
    this.#listing?.stop();
    this.#announced = null;
    this.#list.active = 0;
    this.#listing = new Listing(criteria, { onChange: () => this.#draw(), onProblem: (error) => this.#tellInPlace(error) });
    if (!isFirst) window.scrollTo(0, 0);
    this.#selection.clear();
  }

  leave() {
    clearTimeout(this.#refreshing);
    this.#listing.stop();
    this.#list.leave();
    for (const event of LIVE) changes.removeEventListener(event, this.#refreshSoon);
    changes.removeEventListener("back", this.#offer);
    deletions.removeEventListener("change", this.#sift);
  }

  #offer = () => this.#filters.offer();

  #refreshSoon = () => {
    this.#refreshing ||= setTimeout(() => {
      this.#refreshing = 0;
      this.#listing.refresh();
    }, REFRESH_AFTER_MS);
  };

  #sift = () => {
    this.#selection.forget(isBeingDeleted);
    this.#listing.sift();
  };

  #draw() {
    const { total, count: rows } = this.#listing;
    // Until the engine has told how many there are, what was listed before stays.
    if (total === undefined) return;
    this.#selection.renew(this.#listing.loaded);
    this.#followActive();
    this.#list.count = rows;
    this.#list.element.hidden = rows === 0;
    this.#line.element.hidden = rows === 0;
    this.#line.show({ selected: this.#selection.size, loaded: this.#listing.loaded.length, total: rows, isFiltered: hasFilters(this.#criteria) });
    fill(this.#told, rows === 0 && this.#nothing());
    this.#tellCount(rows);
    if (!Number.isNaN(this.#returnTo)) this.#list.focus(this.#returnTo);
    this.#returnTo = NaN;
  }

  /** Others may have come before it: whoever is about to press a key means the document, not the number of its row. */
  #followActive() {
    if (!this.#list.hasFocus) return;
    const id = Number(this.#list.activeRow?.dataset.document);
    this.#list.active = this.#listing.firstRowOf(new Set([id])) ?? this.#list.active;
  }

  #tellCount(rows) {
    if (this.#announced === null && hasFilters(this.#criteria)) announce(count(rows, "document"));
    this.#announced = rows;
  }

  #nothing() {
    if (hasFilters(this.#criteria)) return el("p", { class: "empty" }, "No document matches.");
    return el("p", { class: "empty" }, "There are no documents yet. Drop files anywhere on this page, or ", el("a", { href: placeOf("/notes/new") }, "write a note"), ".");
  }

  #tellInPlace(error) {
    fill(this.#told, el("p", { class: "bad-text", role: "alert" }, error.message));
  }

  #drawRow(row) {
    const document = this.#listing.at(row);
    return drawRow(document, { isSelected: document !== undefined && this.#selection.has(document.id), sort: this.#criteria.sort });
  }

  #onClick = (event) => {
    const row = this.#list.indexOf(event.target);
    if (row === undefined || event.ctrlKey || event.metaKey) return;
    if (event.target.closest(".box-cell")) this.#choose(row, event);
    else if (event.shiftKey) this.#selection.extend(row, (one) => this.#listing.at(one));
    else this.#open(row);
    event.preventDefault();
  };

  #choose(row, event) {
    this.#list.focus(row);
    if (event.shiftKey) this.#selection.extend(row, (one) => this.#listing.at(one));
    else this.#toggle(row);
  }

  #toggle(row = this.#list.active) {
    const document = this.#listing.at(row);
    if (document) this.#selection.toggle(document, row);
  }

  async #selectAll() {
    try {
      this.#selection.set(await this.#listing.loadAll());
      announce(`${count(this.#selection.size, "document")} selected`);
    } catch (error) {
      tellProblem(error);
    }
  }

  #open(row = this.#list.active) {
    const document = this.#listing.at(row);
    if (!document) return;
    // Where Back comes back to.
    adjust("/documents", { ...criteriaParams(this.#criteria), at: row });
    go(`/documents/${document.id}`, { q: this.#criteria.q });
  }

  /** What an action is for: what is selected, or else the active row. */
  get #chosen() {
    if (this.#selection.size > 0) return this.#selection.documents;
    return [this.#listing.at(this.#list.active)].filter((document) => document && this.#list.hasFocus);
  }

  async #tag() {
    const chosen = this.#chosen;
    if (chosen.length === 0) return announce("Select documents first.");
    if (await changeTagsOf(chosen)) {
      this.#listing.refresh();
      this.#filters.offer();
      announce(`Tags of ${count(chosen.length, "document")} changed`);
    }
  }

  #delete() {
    const chosen = this.#chosen;
    if (chosen.length === 0) return announce("Select documents first.");
    const first = this.#listing.firstRowOf(new Set(chosen.map(({ id }) => id)));
    deleteWithTimeToUndo(chosen);
    // Whatever took its place.
    this.#list.focus(first);
  }

  #edit() {
    const document = this.#listing.at(this.#list.active);
    if (document?.doc_type === "note") go(`/notes/${document.id}/edit`);
    else announce("Only notes can be edited.");
  }
}
