// One chunk of a document's text: its page and headings where they begin, and its words.

import { el } from "../../kit/dom.js";
import { markWithin, markWords } from "../../kit/found_words.js";
import { renderMarkdown } from "../../kit/markdown.js";

const VERBATIM = new Set(["code", "csv", "json", "xlsx"]);

/** `before` is the chunk in front of it, if that is known; `showPage(number)` is called when its page is asked for. */
export function drawChunk(chunk, { before, format, words, showPage }) {
  const text = format === "md" ? markdown(chunk.text, words) : plainText(chunk, format, words);
  const isNewPage = chunk.page_num !== null && chunk.page_num !== before?.page_num;
  return el(
    "div",
    { class: "chunk", tabindex: -1, data: { chunk: chunk.id, ordinal: chunk.ordinal } },
    isNewPage && pageMark(chunk.page_num, showPage),
    isElsewhere(chunk, before) && el("p", { class: "heading-path soft small" }, chunk.heading),
    text,
  );
}

function pageMark(number, showPage) {
  const label = showPage
    ? el("button", { class: "text-button", type: "button", aria: { label: `Show page ${number}` }, on: { click: () => showPage(number) } }, `Page ${number}`)
    : el("span", {}, `Page ${number}`);
  return el("div", { class: "page-mark", data: { page: number } }, label);
}

/** Whether a chunk is below another heading than the one before it, and does not say so itself. */
function isElsewhere(chunk, before) {
  if (!chunk.heading || chunk.heading === before?.heading) return false;
  return !partsOf(chunk.heading).includes(firstLine(chunk.text));
}

function markdown(text, words) {
  const element = el("div", { class: "markdown" }, renderMarkdown(text));
  markWithin(element, words);
  return element;
}

/** The text, with those of its first lines that are headings shown as such. */
function plainText({ text, heading }, format, words) {
  const parts = heading ? partsOf(heading) : [];
  const headings = [];
  let rest = text;
  while (parts.includes(firstLine(rest))) {
    headings.push(firstLine(rest));
    rest = rest.trimStart().split("\n").slice(1).join("\n");
  }
  const titles = headings.map((title) => el("h3", {}, markWords(title, words)));
  const body = el("div", { class: VERBATIM.has(format) ? "words verbatim" : "words" }, markWords(rest.replace(/^\n+/, ""), words));
  return [titles, body];
}

const partsOf = (heading) => heading.split(" > ");
const firstLine = (text) => text.trimStart().split("\n", 1)[0].replace(/^#+\s*/, "").trim();
