// Notes on their way into the base, and out of it.

import { Problem, Unreachable } from "../../kit/calling.js";
import * as engine from "../../kit/engine.js";
import { changes } from "../../kit/events.js";
import { changeBody, mergeTags, storedNote } from "./content.js";

// In case the event stream is down: a note takes less than a second.
const LOOK_EVERY_MS = 1000;

/** Somebody else changed the note since it was read: `stored` is what it says now. */
export class ChangedElsewhere extends Error {
  constructor(stored) {
    super("The note was changed elsewhere.");
    this.stored = stored;
  }
}

/** The id of the document that a new note became. */
export async function addNote({ title, tags, text }, idempotencyKey) {
  const job = await untilDone(await engine.addNote({ text, tags, ...(title ? { title } : {}) }, idempotencyKey));
  if (job.status === "completed") return job.document_id;
  throw new Problem(0, { code: job.error?.code ?? job.status, detail: job.error?.message ?? "The note was not taken in: its job was cancelled." });
}

export async function readNote(id) {
  const { answer, etag } = await engine.getDocument(id, { chunks: false });
  if (answer.doc_type !== "note") throw new Problem(409, { code: "not_a_note", detail: "This document is not a note, so it cannot be edited here." });
  return storedNote(answer, etag);
}

/** Save `content` over the note as it was when it was read (`base`); the note as it is stored then. Throws ChangedElsewhere. */
export async function changeNote(id, content, base) {
  try {
    const { answer, etag } = await engine.updateNote(id, changeBody(content, base.content), base.etag);
    return storedNote(answer, etag);
  } catch (error) {
    if (error.code !== "version_conflict") throw error;
  }
  const stored = await readNote(id);
  const { title, text, tags } = stored.content;
  if (text !== base.content.text || title !== base.content.title) throw new ChangedElsewhere(stored);
  // Only the tags were changed: there is nothing to ask.
  return changeNote(id, { ...content, tags: mergeTags(base.content.tags, content.tags, tags) }, stored);
}

/** Why a note could not be saved, for whoever wrote it. */
export function reasonOf(error) {
  if (error instanceof Unreachable) return "The engine cannot be reached. Your text stays here: save again when it is back.";
  if (error.status === 403) return "Your key may only read, so this note cannot be saved. Your text stays here: copy it, or ask for a key that may write.";
  return `${error.message} Your text stays here.`;
}

export const isGone = (error) => error.status === 404;

const isOver = ({ status }) => status !== "queued" && status !== "running";

function untilDone(job) {
  return new Promise((resolve) => {
    const finish = (known) => {
      if (known.id !== job.id || !isOver(known)) return;
      clearInterval(timer);
      changes.removeEventListener("job", listen);
      resolve(known);
    };
    const listen = ({ detail }) => finish(detail);
    const forgotten = { ...job, status: "failed", error: { code: "job_not_found", message: "The engine no longer knows of this note's job." } };
    // An engine that is away comes back, and does not forget the job, unless its base was replaced.
    const look = () => engine.getJob(job.id).then(finish, (error) => error.status === 404 && finish(forgotten));
    const timer = setInterval(look, LOOK_EVERY_MS);
    changes.addEventListener("job", listen);
    finish(job);
  });
}
