// Two people wrote the same note: both texts, what differs, and the choice between them.

import { el } from "../../kit/dom.js";
import { ago } from "../../kit/wording.js";
import { drawDifferences } from "./differences.js";

/**
 * The section that asks. `mine` and `theirs` are {title, tags, text}; `choose` is called with "mine", "theirs", "merge" or, to
 * go on writing and decide later, "later".
 */
export function conflictSection({ mine, theirs, changedAt, choose }) {
  const heading = el("h2", { id: "conflict-title", tabindex: -1 }, "Changed elsewhere");
  const told = `Somebody else, or another tab, saved this note ${ago(changedAt)}. Nothing is lost: here are both texts.`;
  const button = (choice, label, hint, look = "") =>
    el("button", { class: `button ${look}`, type: "button", title: hint, on: { click: () => choose(choice) } }, label);
  const element = el(
    "section",
    { class: "conflict", aria: { labelledby: "conflict-title" } },
    el("div", { role: "alert" }, heading, el("p", { class: "soft" }, told)),
    el(
      "div",
      { class: "chips" },
      button("mine", "Keep mine", "Save your text over the stored one, which stays in the history", "primary"),
      button("theirs", "Take the stored one", "Go on with what is stored; yours can be brought back"),
      button("merge", "Merge by hand", "Go on with the lines of both"),
      button("later", "Decide later", "Go on writing"),
    ),
    el("h3", {}, "What differs"),
    el("p", { class: "soft small" }, "Red lines are only in the stored text, green ones only in yours."),
    titleChange(mine, theirs),
    drawDifferences(theirs.text, mine.text),
    el("div", { class: "both" }, wholeText("Yours", mine.text), wholeText("Stored now", theirs.text)),
  );
  return { element, focus: () => heading.focus() };
}

function titleChange(mine, theirs) {
  if (mine.title === theirs.title) return null;
  return el("p", {}, "Title: ", el("del", {}, theirs.title || "(its first line)"), " → ", el("ins", {}, mine.title || "(its first line)"));
}

function wholeText(label, text) {
  return el("section", {}, el("h3", {}, label), el("pre", { class: "card whole-text", tabindex: 0, role: "region", aria: { label } }, text));
}
