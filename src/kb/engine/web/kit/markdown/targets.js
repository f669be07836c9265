// Addresses as they are written in a text: (address "title"), <address>, and bare ones.

import { unescapeText } from "./escapes.js";

const MAX_ADDRESS = 2000;

const BRACKETED = new RegExp(`<([^<>\\n]{0,${MAX_ADDRESS}})>`, "y");
const PLAIN = new RegExp(`(?:[^\\s()]|\\([^\\s()]{0,${MAX_ADDRESS}}\\)){1,${MAX_ADDRESS}}`, "y");
const SPACES = /[ \t]*\n?[ \t]*/y;
const TITLE = /"((?:[^"\\]|\\[^]){0,1000})"|'((?:[^'\\]|\\[^]){0,1000})'/y;

const LONE = new RegExp(`<([a-z][a-z\\d+.-]{1,31}:[^\\s<>]{1,${MAX_ADDRESS}}|[\\w.+-]{1,64}@[\\w.-]{1,255})>`, "iy");
const BARE = /https?:\/\/[\p{L}\p{N}][^\s<>[\]"`]*/iuy;

/** {address, title, end} of "(address "title")" at `at`, or null. */
export function readTarget(text, at) {
  if (text[at] !== "(") return null;
  const start = matchAt(SPACES, text, at + 1).end;
  const written = matchAt(BRACKETED, text, start) ?? matchAt(PLAIN, text, start);
  if (!written) return null;
  const gap = matchAt(SPACES, text, written.end).end;
  const title = gap > written.end ? matchAt(TITLE, text, gap) : null;
  const end = title ? matchAt(SPACES, text, title.end).end : gap;
  if (text[end] !== ")") return null;
  return { address: unescapeText(written.groups[0] ?? written.whole), title: unescapeText(title?.groups.join("") ?? ""), end: end + 1 };
}

/** {address, shown, end} of "<https://…>" or "<somebody@…>". */
export function readBracketedAddress(text, at) {
  const found = matchAt(LONE, text, at);
  if (!found) return null;
  const [shown] = found.groups;
  return { address: /^[^@]*:/.test(shown) ? shown : `mailto:${shown}`, shown, end: found.end };
}

/** {address, shown, end} of an address that simply stands in the text. What ends the sentence does not belong to it. */
export function readBareAddress(text, at) {
  if (/[\p{L}\p{N}]/u.test(text[at - 1] ?? "")) return null;
  const found = matchAt(BARE, text, at);
  if (!found) return null;
  const shown = withoutPunctuation(found.whole);
  return { address: shown, shown, end: at + shown.length };
}

function withoutPunctuation(address) {
  let unclosed = 0;
  for (const character of address) unclosed += character === ")" ? 1 : character === "(" ? -1 : 0;
  let end = address.length;
  for (;;) {
    const last = address[end - 1];
    if (last === ")" && unclosed > 0) unclosed -= 1;
    else if (!"?!.,:;*_~'".includes(last)) return address.slice(0, end);
    end -= 1;
  }
}

function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  return match && { whole: match[0], groups: match.slice(1).map((group) => group ?? ""), end: at + match[0].length };
}
