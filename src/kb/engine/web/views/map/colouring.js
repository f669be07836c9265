// Which documents have one colour: those of a type, or those with a tag. The commonest have colours of their own, the rest share one.

import { typeName } from "../../kit/wording.js";

export const COLOURS = 8;
const REST = "Others";

/** [{label, indices}], the commonest first, whatever has no colour of its own last. `by` is "type" or "tag". */
export function groupDocuments(documents, by) {
  const counts = countTags(documents);
  const nameOf = by === "tag" ? (document) => commonestTag(document, counts) : (document) => typeName(document.doc_type);
  const groups = new Map();
  documents.forEach((document, index) => {
    const label = nameOf(document) ?? REST;
    if (!groups.has(label)) groups.set(label, []);
    groups.get(label).push(index);
  });
  const rest = groups.get(REST) ?? [];
  groups.delete(REST);
  const ordered = [...groups].sort((one, other) => other[1].length - one[1].length || one[0].localeCompare(other[0]));
  const own = ordered.slice(0, COLOURS).map(([label, indices]) => ({ label, indices }));
  rest.push(...ordered.slice(COLOURS).flatMap(([, indices]) => indices));
  return rest.length ? [...own, { label: REST, indices: rest, isRest: true }] : own;
}

function countTags(documents) {
  const counts = new Map();
  for (const { tags } of documents) {
    for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  }
  return counts;
}

/** Of a document's tags the one that most others have too. */
function commonestTag({ tags }, counts) {
  return [...tags].sort((one, other) => counts.get(other) - counts.get(one) || one.localeCompare(other))[0];
}
