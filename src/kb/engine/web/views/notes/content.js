// What a note says, as values: {title, tags, text}. An empty title means that the first line is the title.

import { derivedTitle } from "./titles.js";

/** A note as it is stored: its content, and what guards a change of it. Of a note that is not there yet, nothing. */
export const NOTHING = { content: { title: "", tags: [], text: "" }, etag: null, version: 0, changedAt: null };

export function storedNote(document, etag) {
  // As a field of text has it.
  const text = document.text.replace(/\r\n?/g, "\n");
  const title = document.title === derivedTitle(text) ? "" : document.title;
  return { content: { title, tags: document.tags, text }, etag, version: document.version, changedAt: document.updated_at ?? document.created_at };
}

const haveSameTags = (one, other) => one.length === other.length && one.every((tag) => other.includes(tag));

export const isSameContent = (one, other) => one.title === other.title && one.text === other.text && haveSameTags(one.tags, other.tags);

/** What the engine is told of a change: only what is another than before. */
export function changeBody(content, before) {
  const body = { text: content.text };
  // A title once given cannot be taken back, only replaced: by the one that the text has now.
  if (content.title !== before.title) body.title = content.title || derivedTitle(content.text);
  if (!haveSameTags(content.tags, before.tags)) body.tags = content.tags;
  return body;
}

/** Tags that two people changed: what either of them added or took away. */
export function mergeTags(before, mine, theirs) {
  const kept = theirs.filter((tag) => mine.includes(tag) || !before.includes(tag));
  return [...kept, ...mine.filter((tag) => !before.includes(tag) && !kept.includes(tag))];
}
