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

/** What of it is there as it came. What somebody has changed since, or has had before, is theirs. */
export async function findSample() {
  const { files, source_folder: folder } = await readIndex();
  const hashes = new Map(files.map(({ name, content_hash: hash }) => [`${folder}/${name}`, hash]));
  const { documents } = await engine.listDocuments({ source_folder: folder, limit: 1000 });
  const isAsItCame = ({ source_path: path, content_hash: hash, updated_at: changedAt }) => changedAt === null && hash === hashes.get(path);
  return documents.filter((document) => !isBeingDeleted(document.id) && isAsItCame(document));
}

export const removeSample = async () => deleteWithTimeToUndo(await findSample());
