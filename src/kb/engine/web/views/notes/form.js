// The form of a note: title, tags, text and what it will look like. It knows nothing of the engine.

import { el, fill } from "../../kit/dom.js";
import { count } from "../../kit/wording.js";
import { LivePreview } from "./live_preview.js";
import { NoteTags } from "./note_tags.js";
import { derivedTitle } from "./titles.js";
import { writingField } from "./writing.js";

export const MAX_CHARACTERS = 1_000_000;
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

export class NoteForm {
  element;
  #preview = new LivePreview();
  #title = el("input", { class: "input note-title", maxlength: 500, autocomplete: "off", aria: { label: "Title" } });
  #tags;
  #text;
  #count = el("span", { id: "note-count" });
  #state = el("span", { class: "note-state", role: "status" });
  #save = el("button", { class: "button primary", type: "submit" }, "Save");
  #told = el("div", { role: "alert" });
  #panes;

  /** `changed()` after each change; `save({stays})` and `leave()` when somebody wants to. */
  constructor({ changed, save, leave, heading }) {
    const onChange = () => {
      this.#showText();
      changed();
    };
    this.#title.addEventListener("input", changed);
    this.#tags = new NoteTags(changed);
    this.#text = writingField(onChange);
    this.#text.addEventListener("scroll", () => this.#preview.follow(this.#text));
    this.#panes = el("div", { class: "note-panes", data: { side: "write" } }, this.#sides(), this.#text, this.#preview.element);
    const cancel = el("button", { class: "button", type: "button", on: { click: leave } }, "Cancel");
    const name = el("h1", { class: "unseen" }, heading);
    const head = el(
      "div",
      { class: "note-head" },
      this.#title,
      el("div", { class: "note-actions" }, this.#state, cancel, this.#save),
    );
    const keys = el("span", { class: "wide" }, "Ctrl S saves · Ctrl ↵ saves and closes · Esc leaves");
    const foot = el("p", { class: "note-foot soft small" }, this.#count, keys);
    this.element = el("form", { class: "note-form" }, name, head, this.#tags.element, this.#told, this.#panes, foot);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      save({ stays: false });
    });
    this.element.addEventListener("keydown", (event) => this.#onKey(event, save, leave));
    this.#showText();
  }

  get content() {
    return { title: this.#title.value.trim(), tags: this.#tags.tags, text: this.#text.value };
  }

  set content({ title, tags, text }) {
    this.#title.value = title;
    this.#tags.tags = tags;
    this.#text.value = text;
    this.#showText();
  }

  get characters() {
    const { value } = this.#text;
    return value.length - (value.match(PAIRS)?.length ?? 0);
  }

  /** A tag that is typed and not yet added belongs to the note as well. */
  takeTag() {
    this.#tags.take();
  }

  focus() {
    this.#text.focus();
  }

  /** To the start of the text, which is where somebody begins to read. */
  rewind() {
    this.#text.setSelectionRange(0, 0);
    this.#text.scrollTop = 0;
  }

  /** While the note is loaded nothing can be typed into it; while it is saved it can. */
  set isLoading(isLoading) {
    for (const field of [this.#title, this.#text, this.#save]) field.disabled = isLoading;
  }

  set state(text) {
    this.#state.textContent = text;
  }

  set isSaving(isSaving) {
    this.#save.setAttribute("aria-disabled", isSaving);
    if (isSaving) this.state = "Saving…";
  }

  /** Nothing can be typed, but the focus stays. */
  set isLocked(isLocked) {
    for (const field of [this.#title, this.#text]) field.readOnly = isLocked;
  }

  /** Say in place why something could not be done; nothing takes it away again. */
  tell(...words) {
    fill(this.#told, words.length ? el("p", { class: "note-problem" }, words) : null);
  }

  /** Show what `draw(text)` makes of the text instead of the preview; null: the preview again. */
  showBeside(draw) {
    this.#preview.drawWith(draw, this.#text.value);
  }

  /** Another element instead of the text and its preview; null: these again. */
  cover(element) {
    this.element.querySelector(".conflict")?.remove();
    this.#panes.hidden = element !== null;
    if (element) this.#panes.before(element);
  }

  get isCovered() {
    return this.#panes.hidden;
  }

  leave() {
    this.#preview.leave();
  }

  #showText() {
    const { value } = this.#text;
    this.#title.placeholder = derivedTitle(value) || "Title (or the first line)";
    const { characters } = this;
    this.#count.textContent = `${count(characters, "character")} of ${MAX_CHARACTERS.toLocaleString()}`;
    this.#count.classList.toggle("bad-text", characters > MAX_CHARACTERS);
    this.#preview.show(value);
  }

  /** On a phone there is room for one side only. */
  #sides() {
    const buttons = [["write", "Write"], ["read", "Preview"]].map(([side, label]) =>
      el("button", { class: "button", type: "button", aria: { pressed: side === "write" }, on: { click: () => turn(side) }, data: { side } }, label),
    );
    const turn = (side) => {
      this.#panes.dataset.side = side;
      for (const button of buttons) button.setAttribute("aria-pressed", button.dataset.side === side);
    };
    return el("div", { class: "note-sides", role: "group", aria: { label: "Side" } }, buttons);
  }

  #onKey(event, save, leave) {
    if (event.isComposing || event.defaultPrevented) return;
    const isMod = event.ctrlKey || event.metaKey;
    if (isMod && event.key === "Enter") save({ stays: false });
    else if (isMod && event.key.toLowerCase() === "s") save({ stays: true });
    else if (event.key === "Escape") leave();
    else return;
    event.preventDefault();
  }
}
