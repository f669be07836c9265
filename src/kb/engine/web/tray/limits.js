// What the engine would refuse, known before anything is sent.

import * as engine from "../kit/engine.js";
import { bytes, BYTES_PER_MB } from "../kit/wording.js";

const KNOWN_FOR_MS = 60_000;

let asked = null;
let askedAt = 0;

/** Why a file need not be sent at all, in words; null if it may. */
export async function findObstacle({ size }) {
  const { access, configuration } = await status();
  const most = configuration.max_file_size_mb * BYTES_PER_MB;
  if (access === "read") return "Your key can only read, so nothing can be added with it.";
  if (size === 0) return "The file is empty.";
  return size > most ? `It has ${bytes(size)}, and this engine takes files up to ${bytes(most)} (KB_MAX_FILE_MB).` : null;
}

function status() {
  if (asked === null || Date.now() - askedAt > KNOWN_FOR_MS) {
    askedAt = Date.now();
    asked = engine.getStatus();
    asked.catch(() => (asked = null));
  }
  return asked;
}
