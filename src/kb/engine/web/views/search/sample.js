// A few documents to try kb with: they come with the page, are tagged, and can be taken away again.

import { deleteWithTimeToUndo, isBeingDeleted } from "../../actions/deleting.js";
import * as engine from "../../kit/engine.js";
import { readShippedBlob, readShippedJson } from "../../kit/shipped.js";
import { additions } from "../../tray/additions.js";

const readIndex = () => readShippedJson("sample/index.json");

/** Searches worth a try: [{words, q, tags?}]. */
export const listSearches = async () => (await readIndex()).to_try;

/** Into the tray with them, as with any other file. */
export async function loadSample() {
  const { files, source_folder: folder } = await readIndex();
  const blobs = await Promise.all(files.map(({ name }) => readShippedBlob(`sample/${name}`)));
  additions.add(files.map(({ name, tags }, index) => ({ file: new File([blobs[index]], name), tags, sourcePath: `${folder}/${name}` })));
}

/** What of it is there, but for documents to which somebody has given a tag: those are theirs now. */
export async function findSample() {
  const { files, source_folder: folder } = await readIndex();
  const ours = new Map(files.map(({ name, tags }) => [`${folder}/${name}`, new Set(tags)]));
  const { documents } = await engine.listDocuments({ source_folder: folder, limit: 1000 });
  return documents.filter(({ id, source_path: path, tags }) => !isBeingDeleted(id) && tags.every((tag) => ours.get(path)?.has(tag)));
}

export const removeSample = async () => deleteWithTimeToUndo(await findSample());
