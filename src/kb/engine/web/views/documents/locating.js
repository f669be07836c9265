// Where in a long document a chunk or a page is, without fetching all of it: chunks have their numbers and pages in reading
// order, so a few looks at single ones find any.

import * as engine from "../../kit/engine.js";

/** The offset of a chunk or of the first chunk of a page; undefined if there is none such. */
export async function locate(id, total, { chunkId, page }, signal) {
  const look = async (offset) => (await engine.getDocument(id, { chunk_limit: 1, chunk_offset: offset }, signal)).answer.chunks[0];
  if (total === 0) return undefined;
  return (chunkId && (await locateChunk(look, total, chunkId))) ?? (page ? await locatePage(look, total, page) : undefined);
}

async function locateChunk(look, total, chunkId) {
  // Numbers are given out one after the other, so the first look is nearly always enough.
  const guess = chunkId - (await look(0)).id;
  if (guess >= 0 && guess < total && (await look(guess))?.id === chunkId) return guess;
  const offset = await bisect(look, total, (chunk) => chunk.id >= chunkId);
  return offset < total && (await look(offset)).id === chunkId ? offset : undefined;
}

async function locatePage(look, total, page) {
  // What stands on no page, such as the header of a letter, comes last.
  const offset = await bisect(look, total, (chunk) => chunk.page_num === null || chunk.page_num >= page);
  return offset < total ? offset : undefined;
}

/** The first offset whose chunk `isThere`, if from some offset on all are. */
async function bisect(look, total, isThere) {
  let low = 0;
  let high = total;
  while (low < high) {
    const middle = (low + high) >> 1;
    const chunk = await look(middle);
    if (!chunk || isThere(chunk)) high = middle;
    else low = middle + 1;
  }
  return low;
}
