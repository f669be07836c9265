// The blocks of a Markdown text: headings, paragraphs, code, quotes, lists, tables, rules. Lines in, plain values out.
//
// Quotes and list items hold lines of their own, which are read the same way one level deeper. Below MAX_DEPTH they are
// text, so that each line is looked at only so often, and nothing is nested deeper than a browser likes to draw.

import { readAddress } from "./addresses.js";
import { unescapeText } from "./escapes.js";
import { takeItem } from "./items.js";
import { expandTabs, FENCE, indentOf, interrupts, isBlank, isLazy, isRule, itemMarker, labelKey, QUOTE } from "./lines.js";
import { readTable, startsTable } from "./tables.js";

const MAX_DEPTH = 12;

const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const DEFINITION = /^ {0,3}\[([^[\]]{1,200})\]:[ \t]*<?([^\s<>]{1,2000})>?(?:[ \t]+["'(]([^"]{0,1000})["')])?[ \t]*$/;

/** {blocks, definitions}: the definitions are what links by reference refer to. */
export function parseBlocks(text) {
  const definitions = new Map();
  const lines = text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").replaceAll("\0", "\ufffd").split("\n");
  return { blocks: parseLines(lines, { depth: 0, definitions }).blocks, definitions };
}

const READERS = [readIndented, readFence, readHeading, readRule, readQuote, readList, readTable, readDefinition, readParagraph];

/** `hasGaps` tells whether an empty line stands between two of the blocks. */
function parseLines(lines, { depth, definitions }) {
  const cursor = { lines: lines.map((line) => expandTabs(line)), at: 0, depth, definitions };
  const blocks = [];
  let hasGaps = false;
  let sawBlank = false;
  while (cursor.at < lines.length) {
    if (isBlank(cursor.lines[cursor.at])) {
      cursor.at += 1;
      sawBlank = true;
      continue;
    }
    hasGaps ||= sawBlank && blocks.length > 0;
    sawBlank = false;
    for (const read of READERS) {
      const block = read(cursor);
      if (!block) continue;
      if (block.kind !== "definition") blocks.push(block);
      break;
    }
  }
  return { blocks, hasGaps };
}

function readIndented(cursor) {
  const { lines, at } = cursor;
  if (indentOf(lines[at]) < 4) return null;
  let end = at + 1;
  for (let next = end; next < lines.length && (isBlank(lines[next]) || indentOf(lines[next]) >= 4); next += 1) {
    if (!isBlank(lines[next])) end = next + 1;
  }
  cursor.at = end;
  return { kind: "code", language: "", text: lines.slice(at, end).map((line) => line.slice(4)).join("\n") };
}

function readFence(cursor) {
  const { lines, at } = cursor;
  const match = FENCE.exec(lines[at]);
  if (!match) return null;
  const [head, indent, fence] = match;
  const [language] = lines[at].slice(head.length).trim().split(/\s/, 1);
  const closes = (line) => {
    const bare = line.trim();
    return indentOf(line) < 4 && bare.length >= fence.length && bare === fence[0].repeat(bare.length);
  };
  let end = at + 1;
  while (end < lines.length && !closes(lines[end])) end += 1;
  cursor.at = end + 1;
  const unindented = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent.length, indentOf(line))));
  return { kind: "code", language, text: unindented.join("\n") };
}

function readHeading(cursor) {
  const line = cursor.lines[cursor.at];
  const match = HEADING.exec(line);
  if (!match) return null;
  cursor.at += 1;
  return { kind: "heading", level: match[1].length, text: withoutClosingMarks(line.slice(match[0].length).trim()) };
}

function withoutClosingMarks(text) {
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  return end === 0 || " \t".includes(text[end - 1]) ? text.slice(0, end).trimEnd() : text;
}

function readRule(cursor) {
  if (!isRule(cursor.lines[cursor.at])) return null;
  cursor.at += 1;
  return { kind: "rule" };
}

function readQuote(cursor) {
  const { lines, depth, definitions } = cursor;
  if (depth >= MAX_DEPTH || !QUOTE.test(lines[cursor.at])) return null;
  const inner = [];
  for (; cursor.at < lines.length; cursor.at += 1) {
    const line = lines[cursor.at];
    const mark = QUOTE.exec(line);
    if (!mark && !isLazy(line, inner.at(-1))) break;
    inner.push(mark ? line.slice(mark[0].length) : line);
  }
  return { kind: "quote", blocks: parseLines(inner, { depth: depth + 1, definitions }).blocks };
}

function readList(cursor) {
  const { lines, depth, definitions } = cursor;
  const first = depth < MAX_DEPTH && itemMarker(lines[cursor.at]);
  if (!first) return null;
  const items = [];
  let isTight = true;
  for (let marker = first; marker?.kind === first.kind; ) {
    const { isDone, inner } = takeItem(cursor, marker);
    const { blocks, hasGaps } = parseLines(inner, { depth: depth + 1, definitions });
    items.push({ isDone, blocks });
    isTight &&= !hasGaps;
    let next = cursor.at;
    while (next < lines.length && isBlank(lines[next])) next += 1;
    marker = next < lines.length ? itemMarker(lines[next]) : null;
    if (marker?.kind !== first.kind) break;
    isTight &&= next === cursor.at;
    cursor.at = next;
  }
  return { kind: "list", isOrdered: first.isOrdered, start: first.start, isTight, items };
}

function readDefinition(cursor) {
  const match = DEFINITION.exec(cursor.lines[cursor.at]);
  if (!match) return null;
  const [, label, written, title = ""] = match;
  const address = readAddress(unescapeText(written));
  if (!address) return null;
  cursor.at += 1;
  const key = labelKey(label);
  if (!cursor.definitions.has(key)) cursor.definitions.set(key, { address, title: unescapeText(title) });
  return { kind: "definition" };
}

function readParagraph(cursor) {
  const { lines } = cursor;
  const text = [];
  const ends = (line) => isBlank(line) || interrupts(line) || startsTable(lines, cursor.at);
  do {
    text.push(lines[cursor.at].trimStart());
    cursor.at += 1;
    const underline = cursor.at < lines.length && UNDERLINE.exec(lines[cursor.at]);
    if (underline) {
      cursor.at += 1;
      return { kind: "heading", level: underline[1][0] === "=" ? 1 : 2, text: text.join("\n").trimEnd() };
    }
  } while (cursor.at < lines.length && !ends(lines[cursor.at]));
  return { kind: "paragraph", text: text.join("\n").trimEnd() };
}
