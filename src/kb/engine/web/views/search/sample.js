// A few documents to try kb with: they come with the page, are tagged, and can be taken away again.

import * as engine from "../../kit/engine.js";
import { readShippedBlob, readShippedJson } from "../../kit/shipped.js";
import { additions } from "../../tray/additions.js";

export const SAMPLE_TAG = "sample";
// Somebody may use the tag for documents of their own.
const MARK = { from: "the sample of kb" };
const DELETED_AT_ONCE = 5;

/** Searches worth a try: [{words, q, tags?}]. */
export const listSearches = async () => (await readShippedJson("sample/index.json")).to_try;

/** Into the tray with them, as with any other file. */
export async function loadSample() {
  const { files } = await readShippedJson("sample/index.json");
  const blobs = await Promise.all(files.map(({ name }) => readShippedBlob(`sample/${name}`)));
  additions.add(files.map(({ name, tags }, index) => ({ file: new File([blobs[index]], name), tags, metadata: MARK })));
}

/** Answers how many documents went. */
export async function removeSample() {
  const { documents } = await engine.listDocuments({ tag: SAMPLE_TAG, limit: 1000 });
  const ours = documents.filter(({ metadata }) => metadata.from === MARK.from);
  for (let at = 0; at < ours.length; at += DELETED_AT_ONCE) {
    await Promise.all(ours.slice(at, at + DELETED_AT_ONCE).map(({ id }) => engine.deleteDocument(id)));
  }
  return ours.length;
}
