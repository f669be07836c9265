// One note while it is written. What is typed is never lost: it is kept for the tab while it is not saved (drafts.js), stays
// where it is when saving fails, and is shown beside the stored text when somebody else saved first (conflict.js).

import { copyText } from "../../kit/copying.js";
import { ask } from "../../kit/dialogs.js";
import { el, fill } from "../../kit/dom.js";
import { newIdempotencyKey } from "../../kit/engine.js";
import { changes } from "../../kit/events.js";
import { announce, notify } from "../../kit/notices.js";
import { adjust, go } from "../../kit/router.js";
import { ago } from "../../kit/wording.js";
import { conflictSection } from "./conflict.js";
import { isSameContent, mergeTags, NOTHING } from "./content.js";
import { drawDifferences, mergeTexts } from "./differences.js";
import { Draft } from "./drafts.js";
import { MAX_CHARACTERS, NoteForm } from "./form.js";
import { addNote, ChangedElsewhere, changeNote, isGone, readNote, reasonOf } from "./saving.js";

const KEEP_AFTER_MS = 300;
const ASIDE_MS = 30_000;

const idIn = ({ parts }) => (parts[1] === "new" ? null : parts[1]);

export class Editing {
  #id;
  #path;
  #draft;
  #form;
  #bar = el("div", { class: "note-bar", role: "status" });
  /** The note as it was when it was read: what it is compared with, and saved over. */
  #base = NOTHING;
  #newestVersion = 0;
  #attempt = { content: NOTHING.content, key: "" };
  #isLoaded = false;
  #isSaving = false;
  #isLeft = false;
  #timer = 0;
  #listeners = [
    [changes, "document_changed", ({ detail }) => this.#isThis(detail.id, detail.uuid) && this.#onVersion(detail.version)],
    [changes, "document_deleted", ({ detail }) => this.#isThis(detail.document_id, detail.document_uuid) && this.#onGone()],
    [changes, "everything_deleted", () => this.#id !== null && this.#onGone()],
    [changes, "missed", () => this.#lookAgain()],
    [changes, "back", () => this.#lookAgain()],
    [window, "beforeunload", (event) => this.#isChanged && event.preventDefault()],
    [window, "pagehide", () => this.#keep()],
  ];

  constructor(root, place) {
    this.#id = idIn(place);
    this.#path = place.path;
    this.#draft = new Draft(this.#id);
    this.#form = new NoteForm({
      heading: this.#id === null ? "New note" : "Edit the note",
      changed: () => this.#onChange(),
      save: (how) => this.save(how),
      leave: () => this.askToLeave(),
    });
    root.append(this.#form.element);
    this.#form.element.prepend(this.#bar);
    for (const [target, event, listener] of this.#listeners) target.addEventListener(event, listener);
    if (this.#id === null) this.#start(NOTHING);
    else this.#load();
    this.takeGivenText(place);
  }

  isOf(place) {
    return idIn(place) === this.#id;
  }

  /** Text may come with the address: it is added to what is there, and taken out of the address. */
  takeGivenText({ path, params }) {
    const text = params.get("text");
    if (!text || this.#id !== null) return;
    const { content } = this.#form;
    this.#form.content = { ...content, text: content.text ? `${content.text}\n\n${text}` : text };
    this.#onChange();
    queueMicrotask(() => adjust(path));
  }

  leave() {
    this.#isLeft = true;
    for (const [target, event, listener] of this.#listeners) target.removeEventListener(event, listener);
    this.#form.leave();
    if (!this.#isChanged) return;
    clearTimeout(this.#timer);
    const { content } = this.#form;
    if (this.#draft.keep(content, this.#base)) {
      const action = { label: "Go back to it", run: () => go(this.#path) };
      notify("Your text is not saved. It is kept in this tab.", { action });
      return;
    }
    const action = { label: "Copy it", run: () => copyText(content.text, "Your text is copied.") };
    notify("Your text is not saved, and the browser has no room to keep it.", { kind: "bad", action, forMs: ASIDE_MS });
  }

  async askToLeave() {
    if (this.#isChanged) {
      const body = el("p", {}, "What you wrote since it was last saved would be gone.");
      if (!(await ask({ title: "Leave without saving?", body, submit: "Discard my changes", danger: true }))) return;
      this.#settle(this.#base, this.#base.content);
    }
    go(this.#id === null ? "/documents" : `/documents/${this.#id}`);
  }

  async save({ stays }) {
    this.#form.takeTag();
    const { content } = this.#form;
    if (this.#isSaving || !this.#isReady(content)) return;
    this.#isSaving = this.#form.isSaving = true;
    this.#form.tell();
    try {
      const id = this.#id === null ? await this.#add(content) : await this.#change(content);
      announce("Saved.");
      if (!this.#isLeft && !(stays && id === this.#id)) adjust(`/documents/${id}`);
    } catch (error) {
      this.#onProblem(error);
    } finally {
      this.#isSaving = this.#form.isSaving = false;
      this.#showState();
      this.#onVersion(this.#newestVersion);
    }
  }

  get #isChanged() {
    return !isSameContent(this.#form.content, this.#base.content);
  }

  #isThis(id, uuid) {
    return this.#id === String(id) || this.#id === uuid;
  }

  #isReady({ text }) {
    if (text.trim() && this.#form.characters <= MAX_CHARACTERS) return true;
    this.#form.tell(text.trim() ? "A note has at most 1,000,000 characters. Shorten it, or make two of it." : "There is nothing to save yet.");
    this.#form.focus();
    return false;
  }

  async #add(content) {
    // Sent again because no answer came, it is the same note; written on meanwhile, it is another.
    if (!isSameContent(content, this.#attempt.content)) this.#attempt = { content, key: newIdempotencyKey() };
    this.#form.isLocked = true;
    try {
      const id = await addNote(content, this.#attempt.key);
      this.#settle({ ...NOTHING, content }, content);
      return id;
    } finally {
      this.#form.isLocked = false;
    }
  }

  async #change(content) {
    if (this.#isChanged) {
      const stored = await changeNote(this.#id, content, this.#base);
      // What was typed while it was saved stays, and is not saved yet.
      const wasTyped = !isSameContent(this.#form.content, content);
      this.#settle(stored, wasTyped ? this.#form.content : stored.content);
    }
    return this.#id;
  }

  async #load() {
    this.#form.isLoading = true;
    try {
      const stored = await readNote(this.#id);
      if (this.#isLeft || this.#isLoaded) return;
      this.#form.isLoading = false;
      this.#form.tell();
      this.#start(stored);
    } catch (error) {
      if (isGone(error) && this.#draft.read()) this.#startWithoutNote();
      else this.#form.tell(isGone(error) ? "There is no such note." : error.message);
    }
  }

  /** Begin with what is stored, or with what was written here before and not saved. */
  #start(stored) {
    const kept = this.#draft.read();
    this.#isLoaded = true;
    this.#settle(stored, stored.content);
    if (kept && !isSameContent(kept.content, stored.content)) {
      const isBehind = kept.base.version < stored.version;
      this.#settle(isBehind ? kept.base : stored, kept.content);
      this.#tell(`What you wrote ${ago(kept.at)} and did not save is here again.`, "Discard it", () => this.#settle(stored, stored.content));
      this.#onVersion(stored.version);
    }
    if (this.#id !== null) this.#form.rewind();
    this.#form.focus();
  }

  /** The note was deleted, and what was written of it is still here. */
  #startWithoutNote() {
    const { content } = this.#draft.read();
    this.#form.isLoading = false;
    this.#isLoaded = true;
    this.#settle(NOTHING, content);
    this.#onGone();
  }

  /** From now on this is what is stored, and that what is written. */
  #settle(base, content) {
    this.#base = base;
    this.#form.cover(null);
    if (!isSameContent(content, this.#form.content)) this.#form.content = content;
    if (base.version >= this.#newestVersion) fill(this.#bar);
    this.#keep();
    this.#showState();
  }

  #onChange() {
    this.#showState();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#keep(), KEEP_AFTER_MS);
  }

  #showState() {
    this.#form.state = this.#isChanged ? "Not saved" : "";
  }

  #keep() {
    clearTimeout(this.#timer);
    if (this.#isChanged) this.#draft.keep(this.#form.content, this.#base);
    else this.#draft.forget();
  }

  #onProblem(error) {
    if (error instanceof ChangedElsewhere) this.#showConflict(error.stored);
    else if (isGone(error)) this.#onGone();
    else this.#form.tell(reasonOf(error));
  }

  #onVersion(version) {
    this.#newestVersion = Math.max(version, this.#newestVersion);
    if (this.#isSaving || !this.#isLoaded || this.#form.isCovered || this.#newestVersion <= this.#base.version) return;
    this.#tell("This note was changed elsewhere.", "Look", () => this.#look());
  }

  #onGone() {
    if (this.#id === null) return;
    this.#id = null;
    this.#base = NOTHING;
    this.#tell("This note was deleted elsewhere. Save it, and it is a new one.");
    this.#showState();
  }

  /** The engine is back, or events were lost: has anything changed? */
  async #lookAgain() {
    if (this.#id === null) return;
    if (!this.#isLoaded) return this.#load();
    try {
      this.#onVersion((await readNote(this.#id)).version);
    } catch (error) {
      if (isGone(error)) this.#onGone();
    }
  }

  async #look() {
    try {
      const stored = await readNote(this.#id);
      const { title, text } = stored.content;
      const { content } = this.#form;
      if (!this.#isChanged) this.#settle(stored, stored.content);
      else if (text === this.#base.content.text && title === this.#base.content.title) {
        this.#settle(stored, { ...content, tags: mergeTags(this.#base.content.tags, content.tags, stored.content.tags) });
      } else this.#showConflict(stored);
    } catch (error) {
      this.#onProblem(error);
    }
  }

  #showConflict(stored) {
    const mine = this.#form.content;
    const choose = (choice) => this.#choose(choice, mine, stored);
    const section = conflictSection({ mine, theirs: stored.content, changedAt: stored.changedAt, choose });
    this.#newestVersion = Math.max(stored.version, this.#newestVersion);
    fill(this.#bar);
    this.#form.cover(section.element);
    section.focus();
  }

  #choose(choice, mine, stored) {
    const tags = mergeTags(this.#base.content.tags, mine.tags, stored.content.tags);
    if (choice === "later") {
      this.#form.cover(null);
      this.#onVersion(stored.version);
    }
    if (choice === "mine") this.#settle(stored, mine);
    if (choice === "theirs") {
      this.#settle(stored, stored.content);
      const run = () => this.#isLeft || this.#settle(stored, mine);
      notify("Your text was put aside.", { action: { label: "Bring it back", run }, forMs: ASIDE_MS });
    }
    if (choice === "merge") {
      this.#settle(stored, { ...mine, tags, text: mergeTexts(stored.content.text, mine.text) });
      this.#form.showBeside((text) => drawDifferences(stored.content.text, text));
      const told = "Where the texts differ, the stored lines stand before yours: delete what should go.";
      this.#tell(told, "Show the preview", () => this.#form.showBeside(null));
    }
    this.#form.focus();
    if (choice === "mine") this.save({ stays: true });
  }

  #tell(text, label, run) {
    const act = () => {
      fill(this.#bar);
      this.#form.focus();
      run();
    };
    fill(this.#bar, el("p", {}, text, label && el("button", { class: "text-button", type: "button", on: { click: act } }, label)));
  }
}
