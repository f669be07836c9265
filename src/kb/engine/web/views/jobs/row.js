// One job: what it is about, how far it is or how it ended, and what can be done.

import { el, fill } from "../../kit/dom.js";
import { icon } from "../../kit/icons.js";
import { progressBar, showFraction } from "../../kit/progress.js";
import { placeOf } from "../../kit/router.js";
import { ago, at, count, seconds } from "../../kit/wording.js";

const WORDS = { queued: "Queued", running: "Running", completed: "Done", failed: "Failed", cancelled: "Cancelled" };
const KINDS = { reindex: "Making the index anew" };

const isUnended = ({ status }) => status === "queued" || status === "running";
const canBeRetried = ({ status }) => status === "failed" || status === "cancelled";

export class JobRow {
  element = el("li", { class: "job card" });
  #bar = progressBar("");
  #told = el("p", { class: "small" });
  #status = el("span", { class: "job-status" });
  #facts = el("p", { class: "soft small" });
  #act = el("button", { class: "button", type: "button" });
  #open = el("a", { class: "button" }, "Open");

  /** `does` = {cancel(job), retry(job)} */
  constructor(job, does) {
    this.#act.addEventListener("click", () => (isUnended(this.job) ? does.cancel(this.job) : does.retry(this.job)));
    const name = nameOf(job);
    this.#bar.setAttribute("aria-label", name);
    this.#open.setAttribute("aria-label", `Open ${name}`);
    const head = el("h2", { class: "job-name" }, name);
    this.element.append(this.#status, el("div", { class: "job-body" }, head, this.#told, this.#bar, this.#facts), el("div", { class: "job-buttons" }, this.#open, this.#act));
    this.update(job);
  }

  update(job) {
    this.job = job;
    this.element.dataset.status = job.status;
    fill(this.#status, WORDS[job.status]);
    fill(this.#told, tell(job));
    this.#told.hidden = this.#told.textContent === "";
    this.#bar.hidden = job.status !== "running";
    showFraction(this.#bar, job.progress);
    fill(this.#facts, facts(job).join(" · "));
    this.#facts.title = `Job ${job.id}, added ${at(job.created_at)}`;
    this.#offer(job);
  }

  #offer(job) {
    const hadFocus = document.activeElement === this.#act;
    const verb = isUnended(job) ? "Cancel" : "Try again";
    fill(this.#act, icon(isUnended(job) ? "close" : "retry"), verb);
    this.#act.setAttribute("aria-label", `${verb}: ${nameOf(job)}`);
    this.#act.hidden = !isUnended(job) && !canBeRetried(job);
    this.#open.hidden = job.document_id === null;
    if (job.document_id !== null) this.#open.setAttribute("href", placeOf(`/documents/${job.document_id}`));
    if (!hadFocus || !this.#act.hidden) return;
    // The button somebody was on is gone.
    const next = this.#open.hidden ? this.element : this.#open;
    this.element.tabIndex = -1;
    next.focus({ preventScroll: true });
  }
}

/** Not every job is about a file or a note; and whoever wrote a note has never seen a file of it. */
function nameOf({ filename, type }) {
  const name = filename || (KINDS[type] ?? type);
  return type === "note" ? name.replace(/\.md$/, "") : name;
}

function tell({ status, message, current_step: step, error, duplicate, replaced }) {
  if (error) return [el("span", { class: "bad-text" }, error.message), " ", el("code", { class: "soft" }, error.code)];
  if (status === "running") return message || step || "Working";
  if (status === "completed" && duplicate) return "The same file was there already.";
  return status === "completed" && replaced ? "It took the place of what was there." : "";
}

function facts(job) {
  const left = job.estimated_remaining_seconds;
  return [
    ago(job.finished_at ?? job.started_at ?? job.created_at),
    job.status === "running" && `${Math.round(job.progress * 100)} %`,
    job.elapsed_seconds !== null && (isUnended(job) ? `for ${seconds(job.elapsed_seconds)}` : `took ${seconds(job.elapsed_seconds)}`),
    left !== null && `${seconds(left)} left`,
    job.chunks_created && count(job.chunks_created, "chunk"),
    job.attempts > 1 && `attempt ${job.attempts}`,
  ].filter(Boolean);
}
