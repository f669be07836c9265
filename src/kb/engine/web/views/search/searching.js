// A search while it is typed: by keyword at once, and by keyword and meaning as soon as nobody has typed for a moment.
//
// The first answer is there within a few milliseconds; the second takes the first one's place. Whatever belongs to an
// earlier query is dropped, also when it arrives late.

import * as engine from "../../kit/engine.js";
import { searchBody } from "./criteria.js";

const QUIET_MS = 120;
export const PAGE_SIZE = 20;

export class Searching {
  #current = new AbortController();
  #timer = 0;

  /** Calls `onAnswer(answer, {isFinal})` twice, or `onProblem(error)`. */
  start(criteria, { onAnswer, onProblem }) {
    this.stop();
    const { signal } = (this.#current = new AbortController());
    const run = async (mode, isFinal) => {
      try {
        const answer = await engine.search(searchBody(criteria, { mode, top: PAGE_SIZE }), signal);
        if (!signal.aborted) onAnswer(answer, { isFinal });
      } catch (error) {
        if (!signal.aborted) onProblem(error);
      }
    };
    const quick = run("fts", false);
    this.#timer = setTimeout(async () => {
      // Not beside the quick one: it would be slowed down, and could be overtaken.
      await quick;
      if (!signal.aborted) run("hybrid", true);
    }, QUIET_MS);
  }

  /** The hits behind those that are shown. */
  more(criteria, offset) {
    return engine.search(searchBody(criteria, { mode: "hybrid", top: PAGE_SIZE, offset }), this.#current.signal);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#current.abort();
  }
}
