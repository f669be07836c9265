// Names for what has none.

/** "pasted-2026-03-14-184530.png" */
export function pastedName(ending, now = new Date()) {
  const two = (number) => String(number).padStart(2, "0");
  const date = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join("-");
  return `pasted-${date}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}.${ending}`;
}
