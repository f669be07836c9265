// A few documents to try kb with: they come with the page, are tagged, and can be taken away again.

import * as engine from "../../kit/engine.js";
import { readShippedBlob, readShippedJson } from "../../kit/shipped.js";
import { additions } from "../../tray/additions.js";

export const SAMPLE_TAG = "sample";
const DELETED_AT_ONCE = 5;

const readIndex = () => readShippedJson("sample/index.json");

/** Searches worth a try: [{words, q, tags?}]. */
export const listSearches = async () => (await readIndex()).to_try;

/** Into the tray with them, as with any other file. */
export async function loadSample() {
  const { files, metadata } = await readIndex();
  const blobs = await Promise.all(files.map(({ name }) => readShippedBlob(`sample/${name}`)));
  additions.add(files.map(({ name, tags }, index) => ({ file: new File([blobs[index]], name), tags, metadata })));
}

/** Answers how many documents went. */
export async function removeSample() {
  const [{ metadata: mark }, { documents }] = await Promise.all([readIndex(), engine.listDocuments({ tag: SAMPLE_TAG, limit: 1000 })]);
  // Somebody may use the tag for documents of their own.
  const ours = documents.filter(({ metadata }) => metadata.from === mark.from);
  for (let at = 0; at < ours.length; at += DELETED_AT_ONCE) {
    await Promise.all(ours.slice(at, at + DELETED_AT_ONCE).map(({ id }) => engine.deleteDocument(id)));
  }
  return ours.length;
}
