// What a note said before, at #/notes/42/history?version=3&against=2: its versions, what changed in one, and the way back to it.

import { ask } from "../../kit/dialogs.js";
import { el, fill } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { changes } from "../../kit/events.js";
import { icon } from "../../kit/icons.js";
import { announce, notify, tellProblem } from "../../kit/notices.js";
import { adjust, go, placeOf } from "../../kit/router.js";
import { ago, at } from "../../kit/wording.js";
import { drawDifferences } from "./differences.js";
import { Revisions } from "./revisions.js";

export const title = "History";

export function show(root, place) {
  return new HistoryView(root, place);
}

class HistoryView {
  #id;
  #place;
  #revisions;
  #isLeft = false;
  #heading = el("h1", {}, "History");
  #links = el("div", { class: "chips" });
  #told = el("div", { role: "alert" });
  #detail = el("section", { class: "revision", aria: { label: "Version" } });
  #listeners = [
    [changes, "document_changed", ({ detail }) => (String(detail.id) === this.#id || detail.uuid === this.#id) && this.#load()],
    [changes, "back", () => this.#load()],
    [changes, "missed", () => this.#load()],
  ];

  constructor(root, place) {
    this.#place = place;
    this.#id = place.parts[1];
    this.#revisions = new Revisions(this.#id);
    root.append(
      el("header", { class: "view-head" }, this.#heading, this.#links),
      this.#told,
      el("div", { class: "history" }, this.#revisions.element, this.#detail),
    );
    for (const [target, event, listener] of this.#listeners) target.addEventListener(event, listener);
    this.#load();
  }

  get shortcuts() {
    return [
      { keys: "ArrowUp", does: "Newer version", run: () => this.#move(-1) },
      { keys: "ArrowDown", does: "Older version", run: () => this.#move(1) },
      { keys: "e", does: "Edit the note", run: () => go(`/notes/${this.#id}/edit`) },
      { keys: "Escape", does: "Back to the note", run: () => go(`/documents/${this.#id}`) },
    ];
  }

  update(place) {
    this.#place = place;
    if (place.parts[1] === this.#id) return this.#showChosen();
    this.#id = place.parts[1];
    this.#revisions.id = this.#id;
    return this.#load();
  }

  leave() {
    this.#isLeft = true;
    for (const [target, event, listener] of this.#listeners) target.removeEventListener(event, listener);
  }

  async #load() {
    try {
      await this.#revisions.load();
      fill(this.#told);
      const { newest } = this.#revisions;
      fill(this.#heading, `History of ${newest.title}`);
      fill(
        this.#links,
        el("a", { class: "button", href: placeOf(`/documents/${this.#id}`) }, icon("documents"), "Open"),
        el("a", { class: "button", href: placeOf(`/notes/${this.#id}/edit`) }, icon("note"), "Edit"),
      );
      this.#showChosen();
    } catch (error) {
      fill(this.#told, el("p", { class: "note-problem" }, error.message));
    }
  }

  async #showChosen() {
    const { params } = this.#place;
    try {
      const chosen = await this.#revisions.find(Number(params.get("version")) || this.#revisions.newest.version);
      const before = await this.#revisions.before(chosen);
      const wanted = Number(params.get("against"));
      const against = wanted ? await this.#revisions.find(wanted) : before;
      // Another version may be wanted by now.
      if (params !== this.#place.params) return;
      this.#revisions.select(chosen);
      fill(this.#detail, this.#head(chosen, before, against), this.#body(chosen, against));
    } catch (error) {
      fill(this.#detail, el("p", { class: "note-problem", role: "alert" }, error.message));
    }
  }

  #head(chosen, before, against) {
    const { newest } = this.#revisions;
    const link = (label, other) =>
      el("a", { class: "chip", href: this.#placeOf(chosen, other), aria: { current: other === against ? "true" : undefined } }, label);
    const revert = () => this.#askToRevert(chosen);
    return el(
      "header",
      { class: "revision-head" },
      el("h2", {}, `Version ${chosen.version}`, el("span", { class: "soft small", title: at(chosen.created_at) }, ` ${ago(chosen.created_at)}`)),
      el(
        "div",
        { class: "chips" },
        before && link(`Compared with version ${before.version}`, before),
        chosen !== newest && newest !== before && link("Compared with the present", newest),
        !chosen.is_current && el("button", { class: "button", type: "button", on: { click: revert } }, icon("history"), "Bring this version back"),
      ),
    );
  }

  #body(chosen, against) {
    if (!against) return [el("p", { class: "soft small" }, "The first version."), drawDifferences("", chosen.text)];
    const [older, newer] = against.version < chosen.version ? [against, chosen] : [chosen, against];
    const renamed = older.title !== newer.title && el("p", {}, "Title: ", el("del", {}, older.title), " → ", el("ins", {}, newer.title));
    return [renamed, drawDifferences(older.text, newer.text)];
  }

  #placeOf({ version }, against) {
    return placeOf(`/notes/${this.#id}/history`, { version, against: against?.version });
  }

  async #move(step) {
    const next = await this.#revisions.neighbour(step);
    if (this.#isLeft) return;
    if (next) adjust(`/notes/${this.#id}/history`, { version: next.version });
    this.#revisions.focus(next);
  }

  async #askToRevert(revision) {
    const body = el("p", {}, `Text and title become again what they were ${ago(revision.created_at)}. What the note says now stays in its history.`);
    if (!(await ask({ title: `Bring version ${revision.version} back?`, body, submit: "Bring it back" }))) return;
    try {
      const { answer } = await engine.revertNote(this.#id, revision.version, this.#revisions.etag);
      announce("Done.");
      notify(`Version ${revision.version} is back, as version ${answer.version}.`);
      await this.#load();
      if (this.#isLeft) return;
      adjust(`/notes/${this.#id}/history`, { version: answer.version });
      this.#revisions.focus(this.#revisions.newest);
    } catch (error) {
      if (error.code !== "version_conflict") return tellProblem(error);
      notify("The note was changed meanwhile. Look at its newest version first, and then try again.", { kind: "bad" });
      this.#load();
    }
  }
}
