// What the search view shows before anything is searched for: what came in last, or a welcome to an empty base.

import { isBeingDeleted } from "../../actions/deleting.js";
import { el, fill, keepFocus } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { changes } from "../../kit/events.js";
import { tellProblem } from "../../kit/notices.js";
import { placeOf } from "../../kit/router.js";
import { ago, count, typeName } from "../../kit/wording.js";
import { findSample } from "./sample.js";
import { showWelcome, thingsToTry } from "./welcome.js";

const RECENT = 12;
const REDRAW_AFTER_MS = 400;

let shown = null;
let timer = 0;

for (const event of ["document_added", "document_deleted", "everything_deleted", "missed"]) {
  changes.addEventListener(event, () => (timer ||= setTimeout(showAgain, REDRAW_AFTER_MS)));
}

/** Fill `root`; resolves when it is done. What is added or deleted meanwhile is shown too. */
export async function showStart(root) {
  try {
    const [recent, tags] = await Promise.all([engine.listDocuments({ limit: RECENT }), engine.listTags()]);
    const documents = recent.documents.filter(({ id }) => !isBeingDeleted(id));
    // What is as it was is left alone: somebody may be about to press it.
    const told = JSON.stringify([documents, recent.total, tags]);
    if (shown?.root !== root || shown.told !== told) await draw(root, { documents, total: recent.total, tags });
    shown = { root, told };
  } catch (error) {
    tellProblem(error);
  }
}

async function draw(root, { documents, total, tags }) {
  if (total === 0) return showWelcome(root);
  const trying = (await findSample()).length > 0 && (await thingsToTry());
  const hadFocus = root.contains(document.activeElement);
  keepFocus(root, "document", () => fill(root, trying, recentDocuments(documents, total), tagCloud(tags)));
  if (hadFocus && !root.contains(document.activeElement)) root.querySelector("a, button").focus();
}

function showAgain() {
  timer = 0;
  if (shown?.root.isConnected && !shown.root.hidden) showStart(shown.root);
}

function recentDocuments(documents, total) {
  const cards = documents.map((document) =>
    el(
      "li",
      {},
      el(
        "a",
        { class: "recent card", href: placeOf(`/documents/${document.id}`), data: { document: document.id } },
        el("span", { class: "type" }, typeName(document.doc_type)),
        el("span", { class: "hit-title" }, document.title),
        el("span", { class: "soft small" }, ago(document.updated_at ?? document.created_at)),
      ),
    ),
  );
  const all = el("a", { href: placeOf("/documents") }, `All ${count(total, "document")}`);
  return el("section", { class: "start" }, el("div", { class: "view-head" }, el("h2", {}, "Recent"), all), el("ul", { class: "recents" }, cards));
}

function tagCloud(tags) {
  if (tags.length === 0) return null;
  const common = [...tags].sort((one, other) => other.count - one.count).slice(0, 40);
  const chips = common.map(({ name, count: number }) =>
    el("a", { class: "chip", href: placeOf("/documents", { tag: name }) }, name, el("span", { class: "soft" }, number)),
  );
  return el("section", { class: "start" }, el("h2", {}, "Tags"), el("div", { class: "chips" }, chips));
}
