// Deleting with time to undo: the documents are gone from the page at once, and from the engine some seconds later.
//
// Whoever leaves the page meanwhile has them deleted at once: that is what was asked for.

import * as engine from "../kit/engine.js";
import { announce, notify } from "../kit/notices.js";
import { inTurns } from "../kit/turns.js";
import { count } from "../kit/wording.js";

const TIME_TO_UNDO_MS = 7000;
// Chromium sends 256 requests for a page that is gone, and drops the others.
const SENT_WHEN_LEAVING = 200;

/** Tells `change` whenever other documents are being deleted than before. */
export const deletions = new EventTarget();

const hidden = new Set();
const unsent = new Set();
const waiting = new Set();

/** Whether a document is to be shown no longer, although the engine may still have it. */
export const isBeingDeleted = (id) => hidden.has(Number(id));

/** Delete these documents ({id}), unless somebody takes it back in time. */
export function deleteWithTimeToUndo(documents) {
  const ids = documents.map(({ id }) => id);
  const words = `${count(ids.length, "document")} deleted`;
  const batch = { ids };
  const removeNotice = notify(words, { action: { label: "Undo", run: () => undo(batch) }, forMs: TIME_TO_UNDO_MS });
  const timer = setTimeout(() => send(batch), TIME_TO_UNDO_MS);
  batch.close = () => {
    clearTimeout(timer);
    removeNotice();
    waiting.delete(batch);
  };
  waiting.add(batch);
  for (const id of ids) {
    hidden.add(id);
    unsent.add(id);
  }
  deletions.dispatchEvent(new Event("change"));
}

/** Take back what was deleted last; false if there is nothing left to take back. */
export function undoLastDeletion() {
  const last = [...waiting].at(-1);
  if (last) undo(last);
  return last !== undefined;
}

function undo(batch) {
  batch.close();
  bringBack(batch.ids);
  announce(`${count(batch.ids.length, "document")} brought back`);
}

async function send(batch) {
  batch.close();
  const failures = await inTurns(batch.ids, deleteIfThere);
  if (failures.length === 0) return;
  bringBack(failures.map(({ item }) => item));
  notify(`${count(failures.length, "document")} could not be deleted: ${failures[0].error.message}`, { kind: "bad" });
}

async function deleteIfThere(id) {
  try {
    await engine.deleteDocument(id);
  } catch (error) {
    if (error.code !== "document_not_found") throw error;
  } finally {
    unsent.delete(id);
  }
}

function bringBack(ids) {
  for (const id of ids) {
    hidden.delete(id);
    unsent.delete(id);
  }
  deletions.dispatchEvent(new Event("change"));
}

window.addEventListener("beforeunload", (event) => unsent.size > SENT_WHEN_LEAVING && event.preventDefault());

window.addEventListener("pagehide", () => {
  for (const batch of waiting) batch.close();
  // Not in turns: nobody is there any more to begin the next.
  for (const id of unsent) engine.deleteDocument(id, { keepalive: true }).catch(() => {});
  unsent.clear();
});
