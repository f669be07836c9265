// The documents behind the list, fetched page by page as they come into view.
//
// One page is fetched at a time, and always one that is in view by then: whoever drags the scroll bar to the end does not
// wait for all that lies between. What is being deleted is left out, so a row's number is not the engine's.

import { isBeingDeleted } from "../../actions/deleting.js";
import * as engine from "../../kit/engine.js";
import { listQuery } from "./criteria.js";

const PAGE_SIZE = 200;
const LARGEST_PAGE = 1000;

export class Listing {
  /** How many there are in all; undefined until the engine has told. */
  total;
  #query;
  #documents = [];
  #stale = new Set();
  #shown = null;
  #wanted = [0, 0];
  #loading = null;
  #stopped = new AbortController();
  #onChange;
  #onProblem;

  constructor(criteria, { onChange, onProblem }) {
    this.#query = listQuery(criteria);
    this.#onChange = onChange;
    this.#onProblem = onProblem;
    this.#load();
  }

  stop() {
    this.#stopped.abort();
  }

  /** How many rows there are. */
  get count() {
    return this.#shown?.length ?? this.total ?? 0;
  }

  /** The document of a row; undefined as long as it is on its way. */
  at(row) {
    return this.#documents[this.#indexOf(row)];
  }

  /** The first row whose document is one of these; undefined if none is. */
  firstRowOf(ids) {
    for (let row = 0; row < this.count; row += 1) if (ids.has(this.at(row)?.id)) return row;
    return undefined;
  }

  /** All that have been fetched, in their order. */
  get loaded() {
    return this.#documents.filter((document) => document && !isBeingDeleted(document.id));
  }

  /** These rows are in view. */
  want(first, last) {
    this.#wanted = [this.#indexOf(first), this.#indexOf(last)];
    this.#load();
  }

  /** Something was changed: what is in view is fetched anew, the rest when it comes into view. */
  refresh() {
    for (let page = 0; page * PAGE_SIZE < (this.total ?? 1); page += 1) this.#stale.add(page);
    this.#load();
  }

  /** Leave out what is being deleted by now, and nothing else. */
  sift() {
    const isShown = (_, index) => !(this.#documents[index] && isBeingDeleted(this.#documents[index].id));
    const shown = Array.from({ length: this.total ?? 0 }, (_, index) => index).filter(isShown);
    this.#shown = shown.length === this.total ? null : shown;
    this.#onChange();
  }

  /** Fetch every one of them; resolves with the list. */
  async loadAll() {
    const { signal } = this.#stopped;
    await this.#fetch(0, Infinity, signal);
    this.#stale.clear();
    this.sift();
    return this.loaded;
  }

  #indexOf(row) {
    return this.#shown ? this.#shown[row] : row;
  }

  async #load() {
    if (this.#loading) return;
    this.#loading = this.#loadWanted();
    await this.#loading;
    this.#loading = null;
  }

  async #loadWanted() {
    const { signal } = this.#stopped;
    try {
      for (let page = this.#missingPage(); page !== undefined && !signal.aborted; page = this.#missingPage()) {
        await this.#fetch(page * PAGE_SIZE, (page + 1) * PAGE_SIZE, signal);
        this.#stale.delete(page);
        this.sift();
      }
    } catch (error) {
      if (!signal.aborted) this.#onProblem(error);
    }
  }

  /** Fetches the documents from `begin` up to but not including `end`. The engine ends a page early if it would be too large. */
  async #fetch(begin, end, signal) {
    for (let offset = begin; offset === begin || offset < Math.min(end, this.total); ) {
      const answer = await engine.listDocuments({ ...this.#query, limit: Math.min(end - offset, LARGEST_PAGE), offset }, signal);
      this.#take(answer);
      if (answer.documents.length === 0) return;
      offset += answer.documents.length;
    }
  }

  #missingPage() {
    if (this.total === undefined) return 0;
    const [first, last] = this.#wanted.map((index) => Math.floor(Math.max(0, Math.min(index ?? 0, this.total - 1)) / PAGE_SIZE));
    for (let page = first; page <= last; page += 1) {
      if (this.#stale.has(page) || (this.#documents[page * PAGE_SIZE] === undefined && this.total > 0)) return page;
    }
    return undefined;
  }

  #take({ documents, total, offset }) {
    this.total = total;
    this.#documents.length = Math.min(this.#documents.length, total);
    documents.forEach((document, index) => (this.#documents[offset + index] = document));
  }
}
