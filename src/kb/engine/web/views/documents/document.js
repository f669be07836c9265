// One document: its text, opened where the address says, its pages, and all that is known of it.

import { deleteWithTimeToUndo, deletions, isBeingDeleted, undoLastDeletion } from "../../actions/deleting.js";
import { changeTagsOf } from "../../actions/tagging.js";
import { el, fill } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { changes } from "../../kit/events.js";
import { announce, notify, tellProblem } from "../../kit/notices.js";
import { adjust, go, placeOf } from "../../kit/router.js";
import { askForMetadata } from "./about.js";
import { DocumentBody } from "./body.js";
import { Head } from "./head.js";

export const title = "Document";

const LIVE = ["document_changed", "document_deleted", "everything_deleted", "missed", "back"];

export function show(root, place) {
  return new DocumentView(root, place);
}

class DocumentView {
  #root;
  #place;
  #document = null;
  #etag = null;
  #head = null;
  #body = null;
  #loading = new AbortController();

  constructor(root, place) {
    this.#root = root;
    this.#place = place;
    for (const event of LIVE) changes.addEventListener(event, this.#onChange);
    deletions.addEventListener("change", this.#onDeletion);
    this.#open();
  }

  get shortcuts() {
    return [
      { keys: "[", does: "Previous page", run: () => this.#body?.turn(-1) ?? false },
      { keys: "]", does: "Next page", run: () => this.#body?.turn(1) ?? false },
      { keys: "ArrowLeft", run: () => this.#body?.turn(-1) ?? false },
      { keys: "ArrowRight", run: () => this.#body?.turn(1) ?? false },
      { keys: "r", does: "Rename", run: () => this.#head?.rename() },
      { keys: "t", does: "Change the tags", run: () => this.#changeTags() },
      { keys: "e", does: "Edit the note", run: () => this.#edit() },
      { keys: "#", does: "Delete", run: () => this.#remove() },
      { keys: "z", does: "Take back what was deleted", run: () => undoLastDeletion() },
    ];
  }

  update(place) {
    const isSame = place.parts[1] === this.#id && place.params.get("q") === this.#place.params.get("q");
    this.#place = place;
    if (isSame && this.#body) this.#body.go(place.params).catch(tellProblem);
    else this.#open();
  }

  leave() {
    this.#close();
    for (const event of LIVE) changes.removeEventListener(event, this.#onChange);
    deletions.removeEventListener("change", this.#onDeletion);
  }

  get #id() {
    return this.#place.parts[1];
  }

  #close() {
    this.#loading.abort();
    this.#body?.leave();
    this.#body = null;
    this.#head = null;
    this.#document = null;
  }

  async #open() {
    this.#close();
    const { signal } = (this.#loading = new AbortController());
    fill(this.#root, el("p", { class: "soft", aria: { busy: true } }, "Loading …"));
    try {
      await this.#fetch(signal);
      if (isBeingDeleted(this.#document.id)) return this.#tellMissing("This document is being deleted.");
      this.#draw();
      await this.#body.go(this.#place.params);
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 404) this.#tellMissing("It was deleted, or never was.");
      else fill(this.#root, el("p", { class: "bad-text", role: "alert" }, error.message));
    }
  }

  async #fetch(signal) {
    const { answer, etag } = await engine.getDocument(this.#id, { chunks: false }, signal);
    this.#document = answer;
    this.#etag = etag;
  }

  #draw() {
    this.#head = new Head({
      rename: (name) => this.#change({ title: name }),
      changeTags: () => this.#changeTags(),
      editMetadata: () => this.#editMetadata(),
      remove: () => this.#remove(),
      page: () => this.#place.params.get("page"),
    });
    this.#body = this.#newBody();
    fill(this.#root, this.#head.element, this.#body.element);
    this.#showHead();
  }

  #newBody() {
    const q = this.#place.params.get("q") ?? "";
    const move = (change) => {
      const params = { ...Object.fromEntries(this.#place.params), ...change };
      adjust(this.#place.path, params);
    };
    return new DocumentBody(this.#document, { q, move });
  }

  #showHead() {
    document.title = `${this.#document.title} · kb`;
    this.#head.show(this.#document);
  }

  #tellMissing(why) {
    this.#close();
    fill(this.#root, el("h1", {}, "This document is not there"), el("p", {}, why, " ", el("a", { href: placeOf("/documents") }, "All documents")));
  }

  #onChange = ({ type, detail }) => {
    if (type === "document_changed" && detail.id === this.#document?.id) this.#refresh();
    else if (type === "document_deleted" && detail.document_id === this.#document?.id) this.#tellMissing("It was deleted.");
    else if (["everything_deleted", "missed", "back"].includes(type)) this.#document ? this.#refresh() : this.#open();
  };

  #onDeletion = () => {
    if (this.#document && isBeingDeleted(this.#document.id)) this.#tellMissing("This document is being deleted.");
    else if (!this.#document) this.#open();
  };

  /** The document as it is by now, with the reader where the reader was. */
  async #refresh() {
    const { signal } = this.#loading;
    const before = this.#document;
    try {
      await this.#fetch(signal);
      this.#showHead();
      if (before.content_hash === this.#document.content_hash && before.chunk_count === this.#document.chunk_count) return;
      const old = this.#body;
      this.#body = this.#newBody();
      await this.#body.takeOver(old, this.#place.params);
      announce("The document was changed.");
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 404) this.#tellMissing("It was deleted.");
      else tellProblem(error);
    }
  }

  /** Resolves with true if the engine has taken the change. */
  async #change(change, { id, etag: before } = { id: this.#document.id, etag: this.#etag }) {
    const { signal } = this.#loading;
    try {
      const { answer, etag } = await engine.updateDocument(id, change, before);
      // Another document may be shown by now.
      if (signal.aborted) return true;
      this.#document = { ...this.#document, ...answer };
      this.#etag = etag;
      this.#showHead();
      return true;
    } catch (error) {
      if (error.code !== "version_conflict") tellProblem(error);
      else {
        if (!signal.aborted) await this.#refresh();
        notify("Somebody changed this document meanwhile. It is shown as it is now; your change was not made.", { kind: "bad" });
      }
      return false;
    }
  }

  async #changeTags() {
    if (this.#document && (await changeTagsOf([this.#document]))) await this.#refresh();
  }

  async #editMetadata() {
    // As they were when they were shown: what somebody else changes meanwhile must not be lost.
    const shown = { id: this.#document.id, etag: this.#etag };
    const metadata = await askForMetadata(this.#document.metadata);
    if (metadata) await this.#change({ metadata }, shown);
  }

  #edit() {
    if (this.#document?.doc_type === "note") go(`/notes/${this.#document.id}/edit`);
    else announce("Only notes can be edited.");
  }

  #remove() {
    if (!this.#document) return;
    const { id } = this.#document;
    go("/documents");
    deleteWithTimeToUndo([{ id }]);
  }
}
