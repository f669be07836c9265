// The difference between two texts, drawn: lines that went, lines that came, and what stayed around them.

import { el } from "../../kit/dom.js";
import { diffSequences, diffTexts } from "../../kit/diff.js";
import { count } from "../../kit/wording.js";

const AROUND = 3;
// As many as are drawn at a time; a browser takes its time with more.
const ROWS_AT_ONCE = 2000;

const KINDS = {
  same: { tag: "span", sign: " ", said: null },
  removed: { tag: "del", sign: "−", said: "Removed: " },
  added: { tag: "ins", sign: "+", said: "Added: " },
};

export function drawDifferences(before, after) {
  const element = el("div", { class: "diff card", role: "group", aria: { label: "Differences" } });
  const rows = diffTexts(before, after);
  if (rows.every(({ kind }) => kind === "same")) return el("p", { class: "soft empty" }, "The texts are the same.");
  drawSome(element, foldSame(rows));
  return element;
}

/** Both texts in one: where they differ, the lines of the first and then those of the second. */
export function mergeTexts(first, second) {
  const [one, other] = [first.split("\n"), second.split("\n")];
  const lines = diffSequences(one, other).flatMap(({ oldFrom, oldTo, newFrom, newTo, isSame }) =>
    isSame ? one.slice(oldFrom, oldTo) : [...one.slice(oldFrom, oldTo), ...other.slice(newFrom, newTo)],
  );
  return lines.join("\n");
}

/** Rows, and {folded: rows} for what is the same far from any change. */
function foldSame(rows) {
  const items = [];
  for (let start = 0; start < rows.length; ) {
    let end = start;
    while (end < rows.length && rows[end].kind === "same") end += 1;
    const from = start === 0 ? start : start + AROUND;
    const to = end === rows.length ? end : end - AROUND;
    // A fold of one line would take as much room as the line.
    if (to - from > 1) items.push(...rows.slice(start, from), { folded: rows.slice(from, to) }, ...rows.slice(to, end));
    else items.push(...rows.slice(start, end));
    for (start = end; start < rows.length && rows[start].kind !== "same"; start += 1) items.push(rows[start]);
  }
  return items;
}

function drawSome(element, items) {
  element.append(...items.slice(0, ROWS_AT_ONCE).map((item) => (item.folded ? fold(item.folded) : drawRow(item))));
  const rest = items.slice(ROWS_AT_ONCE);
  if (rest.length === 0) return;
  const open = () => unfold(more, () => drawSome(element, rest));
  const more = el("button", { class: "fold", type: "button", on: { click: open } }, count(rest.length, "more line"));
  element.append(more);
}

function fold(rows) {
  const rest = rows.slice(ROWS_AT_ONCE);
  const open = () => unfold(button, () => button.before(...rows.slice(0, ROWS_AT_ONCE).map(drawRow), ...(rest.length ? [fold(rest)] : [])));
  const button = el("button", { class: "fold", type: "button", on: { click: open } }, count(rows.length, "unchanged line"));
  return button;
}

/** What had the focus goes away, so what comes gets it. */
function unfold(button, draw) {
  const before = button.previousElementSibling;
  const parent = button.parentElement;
  draw();
  button.remove();
  const first = before ? before.nextElementSibling : parent.firstElementChild;
  first?.setAttribute("tabindex", "-1");
  first?.focus({ preventScroll: true });
}

function drawRow({ kind, before, after, parts }) {
  const { tag, sign, said } = KINDS[kind];
  const text = parts.map(({ text: part, isChanged }) => (isChanged ? el("mark", {}, part) : part));
  return el(
    "div",
    { class: `diff-row ${kind}` },
    el("span", { class: "number", aria: { hidden: true } }, before ?? ""),
    el("span", { class: "number", aria: { hidden: true } }, after ?? ""),
    el("span", { class: "sign", aria: { hidden: true } }, sign),
    el(tag, { class: "line" }, said && el("span", { class: "unseen" }, said), text),
  );
}
