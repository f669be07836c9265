// The original of a document, saved as a file. It is fetched with the key, since a link could not carry it safely.

import { el } from "../kit/dom.js";
import * as engine from "../kit/engine.js";
import { tellProblem } from "../kit/notices.js";

// A browser that asks where to put a file may read it only then.
const KEPT_MS = 60_000;

export async function downloadOriginal({ id, filename }) {
  try {
    const url = URL.createObjectURL(await engine.getOriginal(id));
    el("a", { href: url, download: filename }).click();
    setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
  } catch (error) {
    tellProblem(error);
  }
}
