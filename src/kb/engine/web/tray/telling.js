// How things stand with all files together, in words.

import { count } from "../kit/wording.js";

export const isOver = (list) => !list.some(({ isUnderWay }) => isUnderWay);

/** {words, fraction, failed, finished} */
export function tellAll(list) {
  const number = countStates(list);
  const finished = list.filter(({ isUnderWay }) => !isUnderWay).length;
  const parts = [
    number.added && `${number.added} added`,
    number.known && `${number.known} already there`,
    number.failed && `${number.failed} failed`,
    number.cancelled && `${number.cancelled} cancelled`,
  ].filter(Boolean);
  const words = finished === list.length ? sentence(parts) : `Adding ${count(list.length, "file")} · ${finished} done${number.failed ? `, ${number.failed} failed` : ""}`;
  return { words, fraction: list.length ? sumOf(list) / list.length : 1, failed: number.failed, finished };
}

/** Of those that have no row. */
export function tellUnshown(list, shown) {
  const seen = new Set(shown);
  const rest = countStates(list.filter((addition) => !seen.has(addition)));
  const words = { working: "in the queue", waiting: "waiting", added: "added", known: "already there", cancelled: "cancelled", failed: "more failed" };
  const parts = Object.entries(words).filter(([state]) => rest[state] > 0).map(([state, word]) => `${rest[state].toLocaleString()} ${word}`);
  return sentence(parts);
}

const sentence = (parts) => parts.join(", ");

function countStates(list) {
  const number = { waiting: 0, sending: 0, working: 0, added: 0, known: 0, failed: 0, cancelled: 0 };
  for (const { state } of list) number[state] += 1;
  return number;
}

// Sending is half of the way, being read the other half.
function sumOf(list) {
  const part = { waiting: () => 0, sending: (fraction) => fraction / 2, working: (fraction) => 0.5 + fraction / 2 };
  return list.reduce((sum, { state, fraction }) => sum + (part[state]?.(fraction) ?? 1), 0);
}
