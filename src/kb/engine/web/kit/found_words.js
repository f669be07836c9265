// Matched words, shown as such. The engine marks them in a snippet as **word**.

import { el } from "./dom.js";

/** The nodes of a snippet, its marked words in <mark>. */
export function markedSnippet(snippet) {
  return snippet.split("**").map((part, index) => (index % 2 ? el("mark", {}, part) : part));
}

/** The words that a snippet marks, for marking them in a longer text. */
export function markedWords(snippet) {
  const words = snippet.split("**").filter((_, index) => index % 2);
  return new Set(words.map((word) => word.toLowerCase()));
}

/** The words that were searched for, in lower case; what must not be there is not among them. */
export function queryWords(query) {
  const sought = query.replace(/(?<!\S)-(?:"[^"]*"|[^\s"]+)/gu, " ");
  const words = sought.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  return new Set(telling.length > 0 ? telling : words);
}

/** Put each of `words` into <mark> wherever it stands in the text of these nodes. */
export function markWithin(root, words) {
  if (words.size === 0) return;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const parts = markWords(text.data, words);
    if (parts.length > 1) text.replaceWith(...parts);
  }
}

/** A text as nodes, each of `words` (in lower case) in <mark>. */
export function markWords(text, words) {
  if (words.size === 0) return [text];
  const longestFirst = [...words].sort((one, other) => other.length - one.length).map(wordPattern);
  const pattern = new RegExp(`(${longestFirst.join("|")})`, "giu");
  return text.split(pattern).map((part, index) => (index % 2 ? el("mark", {}, part) : part));
}

// Marked wherever they stand, these would be all that is seen.
const STOP_WORDS = new Set("a an and are as at be by do does for from has have how i in is it its of on or that the this to was were what when where which who why will with you".split(" "));

// Scripts that set no spaces between words: there a word may stand in the middle of a run of letters.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

function wordPattern(word) {
  const escaped = word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return UNSPACED.test(word) ? escaped : `(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`;
}
