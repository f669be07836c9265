// What the page asks of the engine: one function a route, named as in the HTTP reference.

import { call, request } from "./calling.js";
import { queryString } from "./query.js";
import { sendWithProgress } from "./sending.js";

const answerOf = async (promise) => (await promise).answer;

export const search = (body, signal) => answerOf(call("POST", "/search", { body, signal }));

export const listDocuments = (query, signal) => answerOf(call("GET", "/documents", { query, signal }));
/** `{answer, etag}`: the ETag guards a later change. */
export const getDocument = (id, query, signal) => call("GET", `/documents/${encodeURIComponent(id)}`, { query, signal });
export const updateDocument = (id, body, ifMatch) => call("PATCH", `/documents/${encodeURIComponent(id)}`, { body, ifMatch });
export const deleteDocument = (id, { keepalive } = {}) => answerOf(call("DELETE", `/documents/${encodeURIComponent(id)}`, { keepalive }));
export const changeTags = (id, { add = [], remove = [] }) =>
  answerOf(call("PATCH", `/documents/${encodeURIComponent(id)}/tags`, { body: { add, remove } }));
/** All tags, read page after page. */
export async function listTags(signal) {
  const all = [];
  for (;;) {
    const { tags, total } = await answerOf(call("GET", "/tags", { query: all.length > 0 ? { offset: all.length } : {}, signal }));
    all.push(...tags);
    if (tags.length === 0 || all.length >= total) return all;
  }
}

/** Random; `crypto.randomUUID` is only there under https and on the own machine. */
export const newIdempotencyKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The job. Said twice with the same `idempotencyKey`, it is one note. */
export const addNote = (note, idempotencyKey) =>
  answerOf(call("POST", "/jobs", { body: { type: "note", ...note }, headers: idempotencyKey ? { "Idempotency-Key": idempotencyKey } : {} }));
export const updateNote = (id, body, ifMatch) => call("PATCH", `/notes/${encodeURIComponent(id)}`, { body, ifMatch });
export const listRevisions = (id, query) => answerOf(call("GET", `/notes/${encodeURIComponent(id)}/revisions`, { query }));
export const revertNote = (id, version, ifMatch) => call("POST", `/notes/${encodeURIComponent(id)}/revert`, { body: { version }, ifMatch });

/** A file and what is known of it; `onProgress(fraction)` while it is sent. The same `key` twice makes one job. */
export async function addFile({ file, name, tags = [], metadata, sourcePath }, { key, onProgress, signal }) {
  const body = new FormData();
  for (const tag of tags) body.append("tags", tag);
  if (metadata) body.append("metadata", JSON.stringify(metadata));
  if (sourcePath) body.append("source_path", sourcePath);
  body.append("file", file, name);
  const options = { method: "POST", body, signal, onProgress, send: sendWithProgress, headers: { "Idempotency-Key": key } };
  return (await request("/jobs", options)).json();
}
export const listJobs = (query) => answerOf(call("GET", "/jobs", { query }));
export const getJob = (id) => answerOf(call("GET", `/jobs/${encodeURIComponent(id)}`));
export const cancelJob = (id) => answerOf(call("POST", `/jobs/${encodeURIComponent(id)}/cancel`));
export const retryJob = (id) => answerOf(call("POST", `/jobs/${encodeURIComponent(id)}/retry`));

export const reindex = () => answerOf(call("POST", "/reindex"));
export const getStatus = (signal) => answerOf(call("GET", "/status", { signal }));
export const getMap = (signal) => answerOf(call("GET", "/map", { signal }));

/** The original as a Blob. */
export async function getOriginal(id) {
  return (await request(`/documents/${encodeURIComponent(id)}/file`)).blob();
}

/** {blob, pageCount}: a page as a PNG, the words of `q` boxed where the text layer has them, and how many pages there are. */
export async function getPage(id, number, { width, q } = {}, signal) {
  // As in a search, of which this shows the hits.
  const query = queryString({ width, q, complete_last_word: q ? true : undefined });
  const response = await request(`/documents/${encodeURIComponent(id)}/pages/${number}.png${query}`, { signal });
  return { blob: await response.blob(), pageCount: Number(response.headers.get("X-Page-Count")) || undefined };
}
