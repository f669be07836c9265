// What changed between two texts, line by line, and word by word within lines. Pure.
//
// Lines that stand once in both texts are anchors (patience); what lies between two of them is compared by Myers'
// method. That one is given up where it would take too long: then a whole block is replaced by another, which is true as well.

// Steps that one comparison may take: some milliseconds.
const BUDGET = 4_000_000;
const MAX_EDITS = 500;
// Longer lines are compared as a whole.
const MAX_LINE = 4_000;
// Lines that share less than this were not changed but replaced, and marks would only be confetti.
const LEAST_SHARED = 0.35;

/**
 * Rows {kind: "same" | "removed" | "added", before, after, parts}: the numbers of the line in both texts (null where it is
 * in one only), and its text in parts {text, isChanged}.
 */
export function diffTexts(before, after) {
  const old = before.split("\n");
  const now = after.split("\n");
  const rows = [];
  const edits = diffSequences(old, now);
  for (const { oldFrom, oldTo, newFrom, newTo, isSame } of edits) {
    if (isSame) {
      for (let step = 0; step < oldTo - oldFrom; step += 1) rows.push(row("same", oldFrom + step, newFrom + step, whole(old[oldFrom + step])));
      continue;
    }
    const [removed, added] = markWords(old.slice(oldFrom, oldTo), now.slice(newFrom, newTo));
    removed.forEach((parts, step) => rows.push(row("removed", oldFrom + step, null, parts)));
    added.forEach((parts, step) => rows.push(row("added", null, newFrom + step, parts)));
  }
  return rows;
}

/** {added, removed}: in lines. */
export function countChanges(before, after) {
  const counts = { added: 0, removed: 0 };
  for (const { oldFrom, oldTo, newFrom, newTo, isSame } of diffSequences(before.split("\n"), after.split("\n"))) {
    if (isSame) continue;
    counts.removed += oldTo - oldFrom;
    counts.added += newTo - newFrom;
  }
  return counts;
}

const row = (kind, before, after, parts) => ({ kind, before: before === null ? null : before + 1, after: after === null ? null : after + 1, parts });

const whole = (text, isChanged = false) => [{ text, isChanged }];

/** Lines that took each other's place, in order, with the words marked in which they differ. */
function markWords(removed, added) {
  const pairs = Math.min(removed.length, added.length);
  const marked = removed.slice(0, pairs).map((line, index) => diffWords(line, added[index]));
  return [
    removed.map((line, index) => marked[index]?.[0] ?? whole(line)),
    added.map((line, index) => marked[index]?.[1] ?? whole(line)),
  ];
}

function diffWords(before, after) {
  if (before.length > MAX_LINE || after.length > MAX_LINE) return null;
  const [old, now] = [before, after].map((line) => line.match(/[\p{L}\p{N}\p{M}]+|\s+|[^]/gu) ?? []);
  const parts = [[], []];
  let shared = 0;
  for (const { oldFrom, oldTo, newFrom, newTo, isSame } of diffSequences(old, now)) {
    const [was, is] = [old.slice(oldFrom, oldTo).join(""), now.slice(newFrom, newTo).join("")];
    if (isSame) shared += was.length;
    if (was) parts[0].push({ text: was, isChanged: !isSame });
    if (is) parts[1].push({ text: is, isChanged: !isSame });
  }
  return shared >= LEAST_SHARED * Math.max(before.length, after.length) ? parts : null;
}

/** Ranges {oldFrom, oldTo, newFrom, newTo, isSame} that cover both sequences in order. */
export function diffSequences(old, now) {
  const ranges = [];
  const add = (oldFrom, oldTo, newFrom, newTo, isSame) => {
    if (oldFrom === oldTo && newFrom === newTo) return;
    const last = ranges.at(-1);
    if (last?.isSame === isSame) Object.assign(last, { oldTo, newTo });
    else ranges.push({ oldFrom, oldTo, newFrom, newTo, isSame });
  };
  let [oldAt, newAt] = [0, 0];
  for (const [oldEnd, newEnd] of [...findAnchors(old, now), [old.length, now.length]]) {
    compareGap(old, now, { oldAt, oldEnd, newAt, newEnd }, add);
    if (oldEnd < old.length && newEnd < now.length) add(oldEnd, oldEnd + 1, newEnd, newEnd + 1, true);
    [oldAt, newAt] = [oldEnd + 1, newEnd + 1];
  }
  return ranges;
}

/** [place in old, place in now] of what stands once in each, as many as are in the same order in both. */
function findAnchors(old, now) {
  const places = new Map();
  const note = (side) => (value, place) => {
    const seen = places.get(value) ?? [null, null];
    seen[side] = seen[side] === null ? place : -1;
    places.set(value, seen);
  };
  old.forEach(note(0));
  now.forEach(note(1));
  const unique = [...places.values()].filter(([one, other]) => one !== null && other !== null && one >= 0 && other >= 0);
  return longestRising(unique);
}

/** Of pairs sorted by their first number, the longest run in which the second rises too. */
function longestRising(pairs) {
  const tops = [];
  const under = new Map();
  for (const pair of pairs) {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (tops[middle][1] < pair[1]) low = middle + 1;
      else high = middle;
    }
    under.set(pair, tops[low - 1]);
    tops[low] = pair;
  }
  const run = [];
  for (let pair = tops.at(-1); pair; pair = under.get(pair)) run.push(pair);
  return run.reverse();
}

function compareGap(old, now, { oldAt, oldEnd, newAt, newEnd }, add) {
  let [oldFrom, newFrom, oldTo, newTo] = [oldAt, newAt, oldEnd, newEnd];
  while (oldFrom < oldTo && newFrom < newTo && old[oldFrom] === now[newFrom]) [oldFrom, newFrom] = [oldFrom + 1, newFrom + 1];
  while (oldTo > oldFrom && newTo > newFrom && old[oldTo - 1] === now[newTo - 1]) [oldTo, newTo] = [oldTo - 1, newTo - 1];
  add(oldAt, oldFrom, newAt, newFrom, true);
  let [oldDone, newDone] = [oldFrom, newFrom];
  for (const [x, y, length] of findSnakes(old, now, { oldFrom, oldTo, newFrom, newTo }) ?? []) {
    add(oldDone, x, newDone, y, false);
    add(x, x + length, y, y + length, true);
    [oldDone, newDone] = [x + length, y + length];
  }
  add(oldDone, oldTo, newDone, newTo, false);
  add(oldTo, oldEnd, newTo, newEnd, true);
}

/** Myers: [place in old, place in now, length] of what is the same in a shortest way from old to now; null if it is too long a way. */
function findSnakes(old, now, { oldFrom, oldTo, newFrom, newTo }) {
  const [width, height] = [oldTo - oldFrom, newTo - newFrom];
  if (width === 0 || height === 0) return [];
  const most = Math.min(width + height, MAX_EDITS, Math.ceil(BUDGET / (width + height)));
  const farthest = new Int32Array(2 * most + 3);
  const at = (diagonal) => diagonal + most + 1;
  const trace = [];
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(farthest.slice(at(-edits - 1), at(edits + 1) + 1));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const isDown = diagonal === -edits || (diagonal !== edits && farthest[at(diagonal - 1)] < farthest[at(diagonal + 1)]);
      let x = isDown ? farthest[at(diagonal + 1)] : farthest[at(diagonal - 1)] + 1;
      while (x < width && x - diagonal < height && old[oldFrom + x] === now[newFrom + x - diagonal]) x += 1;
      farthest[at(diagonal)] = x;
      if (x >= width && x - diagonal >= height) {
        return walkBack(trace, width, height).map(([one, other, length]) => [one + oldFrom, other + newFrom, length]);
      }
    }
  }
  return null;
}

function walkBack(trace, width, height) {
  const snakes = [];
  let [x, y] = [width, height];
  for (let edits = trace.length - 1; edits >= 0 && (x > 0 || y > 0); edits -= 1) {
    const farthest = (diagonal) => trace[edits][diagonal + edits + 1];
    const diagonal = x - y;
    const isDown = diagonal === -edits || (diagonal !== edits && farthest(diagonal - 1) < farthest(diagonal + 1));
    const startX = edits === 0 ? 0 : isDown ? farthest(diagonal + 1) : farthest(diagonal - 1) + 1;
    if (x > startX) snakes.push([startX, startX - diagonal, x - startX]);
    if (edits === 0) break;
    [x, y] = isDown ? [startX, startX - diagonal - 1] : [startX - 1, startX - diagonal];
  }
  return snakes.reverse();
}
