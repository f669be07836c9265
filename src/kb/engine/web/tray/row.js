// One file in the tray: what it is, how far it is, and what can be done about it.

import { el, fill } from "../kit/dom.js";
import { icon } from "../kit/icons.js";
import { progressBar, showFraction } from "../kit/progress.js";
import { placeOf } from "../kit/router.js";
import { bytes, seconds } from "../kit/wording.js";

const ICONS = { waiting: "upload", sending: "upload", working: "jobs", added: "check", known: "check", failed: "warning", cancelled: "close" };

export class Row {
  element;
  #state = el("span", { class: "tray-state" });
  #told = el("span", { class: "tray-told small" });
  #bar;
  #open = el("a", { class: "text-button", hidden: true }, "Open");
  #act = el("button", { class: "icon-button", type: "button" });
  #shown = "";

  /** `does` = {cancel(addition), retry(addition)} */
  constructor(addition, does) {
    this.addition = addition;
    this.#bar = progressBar(addition.name);
    this.#act.addEventListener("click", () => (addition.isUnderWay ? does.cancel(addition) : does.retry(addition)));
    this.#open.setAttribute("aria-label", `Open ${addition.name}`);
    const name = el("span", { class: "tray-name", title: [addition.folder, addition.name].filter(Boolean).join("/") }, addition.name);
    const head = el("span", { class: "tray-head" }, name, el("span", { class: "soft small" }, bytes(addition.size)));
    this.element = el("li", { class: "tray-row" }, this.#state, el("div", { class: "tray-body" }, head, this.#told, this.#bar), this.#open, this.#act);
  }

  update() {
    const { addition } = this;
    this.#told.textContent = tell(addition);
    this.#bar.hidden = !addition.isUnderWay || addition.state === "waiting";
    showFraction(this.#bar, addition.fraction);
    if (addition.state === this.#shown) return;
    this.#shown = addition.state;
    this.element.dataset.state = addition.state;
    fill(this.#state, icon(ICONS[addition.state]));
    this.#offer();
  }

  /** Whoever is on the button stays there, or goes on to the link that takes its place. */
  #offer() {
    const { state, name, job, isUnderWay } = this.addition;
    const isThere = ["added", "known"].includes(state);
    const hadFocus = document.activeElement === this.#act;
    const label = `${isUnderWay ? "Cancel" : "Try again"}: ${name}`;
    fill(this.#act, icon(isUnderWay ? "close" : "retry"));
    this.#act.setAttribute("aria-label", label);
    this.#act.title = label;
    this.#act.hidden = isThere;
    this.#open.hidden = !isThere;
    if (!isThere) return;
    this.#open.setAttribute("href", placeOf(`/documents/${job.document_id}`));
    if (hadFocus) this.#open.focus({ preventScroll: true });
  }
}

function tell({ state, fraction, reason, job }) {
  const words = {
    waiting: () => "Waiting",
    sending: () => (fraction < 1 ? `Sending, ${Math.round(fraction * 100)} %` : "Sent"),
    working: () => tellWork(job),
    added: () => "Added",
    known: () => "Already there: the same file was added before",
    failed: () => reason,
    cancelled: () => "Cancelled",
  };
  return words[state]();
}

function tellWork({ status, message, current_step: step, estimated_remaining_seconds: remaining }) {
  if (status === "queued") return "In the queue";
  return [message || step || "Reading", remaining > 2 && `${seconds(remaining)} left`].filter(Boolean).join(" · ");
}
