// The dialog in which tags of one or many documents are changed.

import { ask } from "../kit/dialogs.js";
import { el, fill } from "../kit/dom.js";
import * as engine from "../kit/engine.js";
import { notify, tellProblem } from "../kit/notices.js";
import { inTurns } from "../kit/turns.js";
import { count } from "../kit/wording.js";
import { LONGEST_TAG, suggestTags, tagChip } from "./tag_chips.js";

// Fewer are done before a notice could be read.
const MANY = 50;
const AT_MOST_MS = 600_000;

/**
 * Ask which tags these documents ({id, tags}) are to have, and change them. Tags that all of them have can be taken away;
 * new ones are added to all. Resolves with true if anything was changed.
 */
export async function changeTagsOf(documents) {
  const shared = documents.reduce((tags, { tags: others }) => tags.filter((tag) => others.includes(tag)), documents[0].tags);
  const change = await askForTags(shared, documents.length);
  if (!change || (change.add.length === 0 && change.remove.length === 0)) return false;
  const stopTelling = tellThatItTakesTime(documents.length);
  const failures = await inTurns(documents, ({ id }) => engine.changeTags(id, change));
  stopTelling();
  if (failures.length === 1 && documents.length === 1) tellProblem(failures[0].error);
  else if (failures.length > 0) notify(`${count(failures.length, "document")} could not be tagged: ${failures[0].error.message}`, { kind: "bad" });
  return failures.length < documents.length;
}

function tellThatItTakesTime(documents) {
  return documents < MANY ? () => {} : notify(`Changing the tags of ${count(documents, "document")} …`, { forMs: AT_MOST_MS });
}

function askForTags(shared, documents) {
  let tags = [...shared];
  const chips = el("div", { class: "chips" });
  const input = el("input", { id: "new-tag", class: "input", list: "known-tags", maxlength: LONGEST_TAG, autocomplete: "off", autofocus: true });
  const known = el("datalist", { id: "known-tags" });
  suggestTags(known);
  const remove = (tag) => {
    set(tags.filter((other) => other !== tag));
    input.focus();
  };
  const draw = () => fill(chips, tags.map((tag) => tagChip(tag, { label: `Remove ${tag}`, remove: () => remove(tag) })));
  const set = (changed) => {
    tags = changed;
    draw();
  };
  const take = () => {
    const tag = input.value.trim();
    if (tag && !tags.includes(tag)) set([...tags, tag]);
    input.value = "";
  };
  input.addEventListener("keydown", (event) => {
    // Enter with a word adds it; without one it is the dialog's.
    if (event.key !== "Enter" || !input.value.trim()) return;
    event.preventDefault();
    take();
  });
  draw();
  const body = [chips, el("div", { class: "field" }, el("label", { for: "new-tag" }, "Add a tag"), input), known];
  const read = () => {
    take();
    return { add: tags.filter((tag) => !shared.includes(tag)), remove: shared.filter((tag) => !tags.includes(tag)) };
  };
  return ask({ title: documents === 1 ? "Tags" : `Tags of ${count(documents, "document")}`, body, submit: "Save", read });
}
