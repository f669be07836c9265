// What one line of Markdown is, looked at alone.

export const QUOTE = /^ {0,3}> ?/;
// What follows backticks holds none, or it would be a span of code.
export const FENCE = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})/;

const HEADING_START = /^ {0,3}#{1,6}(?:[ \t]|$)/;
const MARKER = /^ {0,3}([-*+]|\d{1,9}[.)])(?=[ \t]|$)/;
// Most lines do not, and are told apart by their first character.
const MAY_INTERRUPT = /^ {0,3}[`~#>*+_\d-]/;
const CONTAINERS = /^(?: {0,3}(?:>|[-*+](?= )|\d{1,9}[.)](?= )) ?)+/;

export const isBlank = (line) => line.trim() === "";

export function indentOf(line) {
  let indent = 0;
  while (line[indent] === " ") indent += 1;
  return indent;
}

/** Tabs in front of a line as the spaces they stand for, up to the next column that four divides. */
export function expandTabs(line, column = 0) {
  if (!/^ *\t/.test(line)) return line;
  let width = column;
  let at = 0;
  for (; line[at] === " " || line[at] === "\t"; at += 1) width += line[at] === "\t" ? 4 - (width % 4) : 1;
  return " ".repeat(width - column) + line.slice(at);
}

export function isRule(line) {
  if (!/^ {0,3}[-*_]/.test(line)) return false;
  const bare = line.replace(/[ \t]/g, "");
  return bare.length >= 3 && bare === bare[0].repeat(bare.length);
}

/** How an item starts, or null: `kind` is the mark, which all items of a list share, `indent` where its text stands. */
export function itemMarker(line) {
  const match = MARKER.exec(line);
  if (!match || isRule(line)) return null;
  const [head, mark] = match;
  const rest = expandTabs(line.slice(head.length), head.length);
  const isEmpty = isBlank(rest);
  const spaces = indentOf(rest);
  // With five spaces or more the text is indented code, one space behind the mark.
  const gap = isEmpty || spaces > 4 ? 1 : spaces;
  const isOrdered = mark.length > 1;
  const start = isOrdered ? Number.parseInt(mark, 10) : 1;
  return { kind: mark.at(-1), isOrdered, start, indent: head.length + gap, isEmpty, text: rest.slice(gap) };
}

const isFenceOrHeading = (line) => FENCE.test(line) || HEADING_START.test(line);

/** Whether a line ends a paragraph above it without an empty line between. */
export function interrupts(line) {
  if (!MAY_INTERRUPT.test(line)) return false;
  if (isFenceOrHeading(line) || QUOTE.test(line) || isRule(line)) return true;
  const marker = itemMarker(line);
  // "1914. A year." in the middle of a paragraph is not a list.
  return marker !== null && !marker.isEmpty && (!marker.isOrdered || marker.start === 1);
}

/** Whether a line without their marks goes on with the paragraph in which `previous`, the last line of a quote or item, ends. */
export function isLazy(line, previous) {
  if (isBlank(line) || interrupts(line) || itemMarker(line)) return false;
  const text = previous.replace(CONTAINERS, "");
  return !isBlank(text) && !isFenceOrHeading(text) && !isRule(text);
}

/** References are the same whatever their case and spacing. */
export const labelKey = (label) => label.trim().replace(/\s+/g, " ").toLowerCase();
