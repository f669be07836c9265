// What is written and not yet saved, kept for the tab: it survives a reload, and is gone with the tab, as the key is.

const PREFIX = "kb.draft.";

export class Draft {
  #name;

  /** Of the note with this id, or (null) of one that is not there yet. */
  constructor(id) {
    this.#name = PREFIX + (id ?? "new");
  }

  /** {content, base, at} as it was kept, or null; the base without its text, which would double it. */
  read() {
    try {
      return JSON.parse(sessionStorage.getItem(this.#name));
    } catch {
      return null;
    }
  }

  /** False if there is no room for it. */
  keep(content, base) {
    const kept = { content, base: { ...base, content: { ...base.content, text: null } }, at: new Date().toISOString() };
    try {
      sessionStorage.setItem(this.#name, JSON.stringify(kept));
      return true;
    } catch {
      // There is no room for it, so an older one must not take its place after a reload.
      this.forget();
      return false;
    }
  }

  forget() {
    sessionStorage.removeItem(this.#name);
  }
}
