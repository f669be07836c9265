// The engine's work: what waits, what is being read, and how the rest ended. The list follows the events.

import { el, fill, keepFocus } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { changes } from "../../kit/events.js";
import { announce, tellProblem } from "../../kit/notices.js";
import { placeOf } from "../../kit/router.js";
import { count } from "../../kit/wording.js";
import { JobRow } from "./row.js";

export const title = "Jobs";

const PAGE_SIZE = 50;
const RELOAD_AFTER_MS = 400;
const FILTERS = [["", "All"], ["queued", "Queued"], ["running", "Running"], ["completed", "Done"], ["failed", "Failed"], ["cancelled", "Cancelled"]];

export function show(root, place) {
  return new JobsView(root, place);
}

class JobsView {
  #filters = el("nav", { class: "chips", aria: { label: "Which jobs" } });
  #list = el("ul", { class: "jobs", aria: { label: "Jobs" } });
  #told = el("p", { class: "soft small" });
  #pages = el("nav", { class: "chips", aria: { label: "Pages" } });
  #rows = new Map();
  #status = "";
  #page = 1;
  #timer = 0;
  #hasLeft = false;

  constructor(root, place) {
    root.append(el("div", { class: "view-head" }, el("h1", {}, "Jobs"), this.#told), this.#filters, this.#list, this.#pages);
    changes.addEventListener("job", this.#hear);
    for (const event of ["missed", "back"]) changes.addEventListener(event, this.#reload);
    this.update(place);
  }

  update({ params }) {
    this.#status = FILTERS.some(([status]) => status === params.get("status")) ? params.get("status") : "";
    this.#page = Math.max(1, Math.floor(Number(params.get("page"))) || 1);
    const link = ([status, label]) => el("a", { class: status === this.#status ? "chip on" : "chip", href: placeOf("/jobs", { status }), data: { status }, aria: { current: status === this.#status ? "page" : undefined } }, label);
    keepFocus(this.#filters, "status", () => fill(this.#filters, FILTERS.map(link)));
    this.#rows.clear();
    fill(this.#list);
    this.#load();
  }

  leave() {
    this.#hasLeft = true;
    clearTimeout(this.#timer);
    changes.removeEventListener("job", this.#hear);
    for (const event of ["missed", "back"]) changes.removeEventListener(event, this.#reload);
  }

  #hear = ({ detail: job }) => {
    this.#rows.get(job.id)?.update(job);
    const isMissing = !this.#rows.has(job.id) && (!this.#status || job.status === this.#status);
    const isAmiss = this.#rows.has(job.id) && this.#status && job.status !== this.#status;
    if (isMissing || isAmiss) this.#reload();
  };

  /** Soon, and once for many events. */
  #reload = () => {
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      this.#load();
    }, RELOAD_AFTER_MS);
  };

  async #load() {
    const [status, page] = [this.#status, this.#page];
    try {
      const answer = await engine.listJobs({ status, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE });
      if (!this.#hasLeft && status === this.#status && page === this.#page) this.#draw(answer);
    } catch (error) {
      tellProblem(error);
    }
  }

  #draw({ jobs, total }) {
    const rows = new Map(jobs.map((job) => [job.id, this.#rows.get(job.id) ?? new JobRow(job, { cancel: this.#cancel, retry: this.#retry })]));
    for (const [id, row] of this.#rows) if (!rows.has(id)) row.element.remove();
    for (const job of jobs) rows.get(job.id).update(job);
    this.#rows = rows;
    let place = this.#list.querySelector(".job");
    this.#list.querySelector(".empty")?.remove();
    for (const { element } of rows.values()) {
      // What is where it belongs stays: a moved element loses the focus.
      if (element === place) place = place.nextElementSibling;
      else this.#list.insertBefore(element, place);
    }
    if (jobs.length === 0) this.#list.append(el("li", { class: "empty" }, this.#status ? "There is no such job." : "Nothing has been added yet."));
    this.#told.textContent = count(total, "job");
    this.#drawPages(total);
  }

  #drawPages(total) {
    const last = Math.max(1, Math.ceil(total / PAGE_SIZE));
    const link = (page, label) => el("a", { class: "button", href: placeOf("/jobs", { status: this.#status, page: page > 1 ? page : "" }) }, label);
    const newer = this.#page > 1 && link(Math.min(this.#page - 1, last), "Newer");
    const older = this.#page < last && link(this.#page + 1, "Older");
    fill(this.#pages, last > 1 && [newer, el("span", { class: "soft small" }, `Page ${this.#page} of ${last}`), older]);
  }

  #cancel = (job) => this.#change(engine.cancelJob, job, "Cancelled.");

  #retry = (job) => this.#change(engine.retryJob, job, "It is tried again.");

  async #change(what, job, said) {
    try {
      this.#rows.get(job.id)?.update(await what(job.id));
      announce(said);
      if (this.#status) this.#reload();
    } catch (error) {
      tellProblem(error);
    }
  }
}
