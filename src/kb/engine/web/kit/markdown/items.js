// The items of lists: which lines belong to one.

import { indentOf, isBlank, isLazy } from "./lines.js";

const TASK = /^\[([ xX])\](?: |$)/;

/** The lines of the item at the cursor, which moves behind the last one that says something. `isDone` is null of what is no task. */
export function takeItem(cursor, marker) {
  const { lines } = cursor;
  const task = TASK.exec(marker.text);
  const inner = [task ? marker.text.slice(task[0].length) : marker.text];
  let end = cursor.at + 1;
  for (let next = end; next < lines.length; next += 1) {
    const line = lines[next];
    if (isBlank(line)) {
      if (marker.isEmpty && inner.length === 1) break;
      inner.push("");
      continue;
    }
    const isIndented = indentOf(line) >= marker.indent;
    if (!isIndented && !isLazy(line, inner.at(-1))) break;
    inner.push(isIndented ? line.slice(marker.indent) : line);
    end = next + 1;
  }
  inner.length = end - cursor.at;
  cursor.at = end;
  return { isDone: task && task[1] !== " ", inner };
}
