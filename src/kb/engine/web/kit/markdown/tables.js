// Tables: a row of heads, a row of dashes, and rows of cells between bars.

import { indentOf, interrupts, isBlank } from "./lines.js";

export function startsTable(lines, at) {
  return tableHead(lines, at) !== null;
}

export function readTable(cursor) {
  const { lines, at } = cursor;
  const table = tableHead(lines, at);
  if (!table) return null;
  const rows = [];
  cursor.at = at + 2;
  for (; cursor.at < lines.length && !isBlank(lines[cursor.at]) && !interrupts(lines[cursor.at]); cursor.at += 1) {
    // A short row stays short: filling it up would make a small text a very large table.
    rows.push(splitRow(lines[cursor.at]).slice(0, table.head.length));
  }
  return { kind: "table", ...table, rows };
}

function tableHead(lines, at) {
  const dashes = lines[at + 1];
  if (!lines[at].includes("|") || dashes === undefined || !dashes.includes("-") || indentOf(dashes) > 3) return null;
  const columns = splitRow(dashes);
  if (!columns.every((column) => /^:?-+:?$/.test(column))) return null;
  const head = splitRow(lines[at]);
  return head.length === columns.length ? { head, alignments: columns.map(alignment) } : null;
}

function alignment(column) {
  if (!column.endsWith(":")) return "";
  return column.startsWith(":") ? "centred" : "to-the-right";
}

function splitRow(line) {
  let row = line.trim();
  if (row.startsWith("|")) row = row.slice(1);
  if (row.endsWith("|") && !row.endsWith("\\|")) row = row.slice(0, -1);
  return row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}
