// The welcome to an empty base, and what to try once the sample is in it.

import { byId, el, fill } from "../../kit/dom.js";
import { icon } from "../../kit/icons.js";
import { tellProblem } from "../../kit/notices.js";
import { placeOf } from "../../kit/router.js";
import { chooseFiles, chooseFolder } from "../../tray/choosing.js";
import { listSearches, loadSample, removeSample } from "./sample.js";

export function showWelcome(root) {
  // Whoever reads it already is not interrupted.
  if (root.querySelector(".welcome")) return;
  const load = el("button", { class: "button primary", type: "button", on: { click: () => once(loadSample) } }, "Load a sample");
  fill(
    root,
    el(
      "section",
      { class: "welcome" },
      el("div", {}, el("h2", {}, "This knowledge base is empty"), el("p", { class: "lead" }, "Put in what you want to find again. It stays on the machine where kb runs.")),
      el(
        "div",
        { class: "ways" },
        way("upload", "Drop files here", "PDF, Word, slides, tables, pictures, mail, Markdown, code: anywhere on this page, whole folders too.", button("Choose files", chooseFiles), button("Choose a folder", chooseFolder)),
        way("note", "Write a note", "In Markdown. Pasting text anywhere on the page begins one as well.", link("New note", "/notes/new")),
        way("connect", "Connect an agent", "Claude, VS Code, Cursor and others can search and write here by themselves.", link("How to connect", "/connect")),
        way("search", "Look round first", "Nine short documents of a community garden, to try the search with. They are removed with one click.", load),
      ),
    ),
  );
}

function way(name, heading, words, ...actions) {
  return el("div", { class: "way card" }, icon(name), el("h3", {}, heading), el("p", { class: "soft small" }, words), el("div", { class: "chips" }, actions));
}

const button = (label, click) => el("button", { class: "button", type: "button", on: { click } }, label);
const link = (label, path) => el("a", { class: "button", href: placeOf(path) }, label);

// A button that was pressed is not disabled: whoever pressed it would lose the focus.
let isBusy = false;

async function once(work) {
  if (isBusy) return;
  isBusy = true;
  try {
    await work();
  } catch (error) {
    tellProblem(error);
  } finally {
    isBusy = false;
  }
}

/** For as long as the sample is there: three searches, and how to be rid of it. */
export async function thingsToTry() {
  const searches = await listSearches();
  const items = searches.map(({ words, q, tags = [] }) =>
    el("li", {}, el("a", { href: placeOf("/", { q, tag: tags }) }, el("strong", {}, [q, ...tags.map((tag) => `#${tag}`)].join(" ")), el("span", { class: "soft small" }, words))),
  );
  const remove = el("button", { class: "text-button", type: "button", on: { click: () => once(takeAway) } }, "Remove the sample");
  return el("section", { class: "to-try card" }, el("div", { class: "view-head" }, el("h2", {}, "Three things to try"), remove), el("ul", {}, items));
}

async function takeAway() {
  await removeSample();
  byId("query").focus();
}
