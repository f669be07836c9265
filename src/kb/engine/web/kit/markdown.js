// Markdown as nodes: what people write of CommonMark, with tables, task lists and strikethrough.
//
// Whoever wrote a text may not be whoever reads it. HTML in it is text; a link goes to the web, to a mail address or to a
// place of this page; and nothing is fetched: a picture is a link to itself. The time taken grows with the length of a text
// and with nothing else, since blocks and spans are nested only so deep.

import { el } from "./dom.js";
import { icon } from "./icons.js";
import { parseBlocks } from "./markdown/blocks.js";
import { parseInline } from "./markdown/inline.js";

// The page has an h1 and its parts have an h2, so a heading of a text starts below those.
const LEVELS_ABOVE = 2;

const SPANS = { emphasis: "em", strong: "strong", strike: "del" };

/** The nodes of a Markdown text, for an element of class "markdown". */
export function renderMarkdown(text) {
  const { blocks, definitions } = parseBlocks(text);
  const spans = (source) => renderSpans(parseInline(source, definitions));
  return blocks.map((block) => renderBlock(block, spans));
}

function renderBlock(block, spans) {
  const inner = (blocks) => blocks.map((one) => renderBlock(one, spans));
  switch (block.kind) {
    case "heading":
      return el(`h${Math.min(6, block.level + LEVELS_ABOVE)}`, {}, spans(block.text));
    case "code":
      return el("pre", {}, el("code", { data: block.language ? { language: block.language } : {} }, block.text));
    case "quote":
      return el("blockquote", {}, inner(block.blocks));
    case "list":
      return renderList(block, inner, spans);
    case "table":
      return renderTable(block, spans);
    case "rule":
      return el("hr");
    default:
      return el("p", {}, spans(block.text));
  }
}

function renderList({ isOrdered, start, isTight, items }, inner, spans) {
  const children = ({ blocks }) =>
    isTight ? blocks.map((block) => (block.kind === "paragraph" ? spans(block.text) : inner([block]))) : inner(blocks);
  const rows = items.map((item) =>
    item.isDone === null ? el("li", {}, children(item)) : el("li", { class: "task" }, checkbox(item.isDone), el("div", {}, children(item))),
  );
  return isOrdered ? el("ol", { start: start === 1 ? null : start }, rows) : el("ul", {}, rows);
}

const checkbox = (isDone) => el("input", { type: "checkbox", disabled: true, checked: isDone, aria: { label: isDone ? "Done" : "To do" } });

function renderTable({ alignments, head, rows }, spans) {
  const cell = (tag) => (text, column) => el(tag, { class: alignments[column] || null }, spans(text));
  const table = el(
    "table",
    {},
    el("thead", {}, el("tr", {}, head.map(cell("th")))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell("td"))))),
  );
  // A wide table scrolls for itself, by keyboard too.
  return el("div", { class: "wide-table", tabindex: 0, role: "region", aria: { label: "Table" } }, table);
}

function renderSpans(nodes, { insideLink = false } = {}) {
  return nodes.map((node) => {
    if (typeof node === "string") return node;
    if (node.kind === "code") return el("code", {}, node.text);
    if (node.kind === "break") return el("br");
    if (node.kind in SPANS) return el(SPANS[node.kind], {}, renderSpans(node.children, { insideLink }));
    return renderLink(node, insideLink);
  });
}

function renderLink({ kind, address, title, children }, insideLink) {
  const isImage = kind === "image";
  const label = renderSpans(children, { insideLink: true });
  if (isImage && label.length === 0) label.push("picture");
  const content = isImage ? [icon("image"), label] : label;
  if (insideLink) return content;
  const hint = title || null;
  // An address without a scheme belongs to wherever the text came from: there is nothing here to follow.
  if (!address.isOpen) return el("span", { class: "unlinked", title: hint ?? address.text }, content);
  if (address.text.startsWith("#")) return el("a", { href: address.text, title: hint }, content);
  return el("a", { href: address.text, title: hint, target: "_blank", rel: "noopener noreferrer nofollow" }, content);
}
