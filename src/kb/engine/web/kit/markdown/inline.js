// The spans of a paragraph: emphasis, code, links. Text in, plain values out.
//
// One pass makes tokens and remembers the marks that may start or end a span; marks are paired as CommonMark says, which
// writes into their tokens what opens and what closes there; a last pass makes a tree of it. Each step is linear: a search
// for the start of a span never looks twice where there was none.

import { readAddress } from "./addresses.js";
import { decodeEntities } from "./escapes.js";
import { labelKey } from "./lines.js";
import { Marks } from "./marks.js";
import { readBareAddress, readBracketedAddress, readTarget } from "./targets.js";

const SPECIAL = /[\\`*_~[\]!<&\n]|https?:\/\//gi;
const ENTITY = /&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z]{2,8});/y;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const MAX_LABEL = 200;
const MAX_DEPTH = 16;

/** Strings and {kind, …}: `text` of code, `children` of all others, `address` and `title` of links and images. */
export function parseInline(text, definitions = new Map()) {
  return buildTree(new InlineParser(text, definitions).tokens());
}

class InlineParser {
  #text;
  #definitions;
  #at = 0;
  #tokens = [];
  #marks = new Marks();
  #brackets = [];
  #backticks = null;

  constructor(text, definitions) {
    this.#text = text;
    this.#definitions = definitions;
  }

  /** {text, node, closes, opens}: what closes there, then text or a whole node, then what opens there. */
  tokens() {
    const text = this.#text;
    while (this.#at < text.length) {
      SPECIAL.lastIndex = this.#at;
      const special = SPECIAL.exec(text)?.index ?? text.length;
      this.#addText(text.slice(this.#at, special));
      this.#at = special;
      if (special < text.length) this.#readSpecial(text[special]);
    }
    this.#marks.pair(null);
    return this.#tokens;
  }

  #addText(text) {
    return this.#add({ text });
  }

  #add(token) {
    this.#tokens.push(token);
    return token;
  }

  /** Take the next `length` characters as they are. */
  #take(length) {
    const token = this.#addText(this.#text.slice(this.#at, this.#at + length));
    this.#at += length;
    return token;
  }

  #readSpecial(character) {
    if (character === "\\") this.#readEscape();
    else if (character === "`") this.#readCode();
    else if (character === "\n") this.#readNewline();
    else if (character === "&") this.#readEntity();
    else if (character === "[") this.#openBracket("[");
    else if (character === "!") this.#openBracket("![");
    else if (character === "]") this.#closeBracket();
    else if ("*_~".includes(character)) this.#readMark(character);
    else this.#readLoneAddress(character === "<" ? readBracketedAddress : readBareAddress);
  }

  #readEscape() {
    const next = this.#text[this.#at + 1] ?? "";
    this.#at += 1;
    if (next === "\n") this.#addBreak();
    else if (PUNCTUATION.test(next)) this.#take(1);
    else this.#addText("\\");
  }

  #addBreak() {
    this.#add({ node: { kind: "break" } });
    this.#at += 1;
  }

  #readNewline() {
    const before = this.#tokens.at(-1);
    const isBreak = before?.text?.endsWith("  ");
    if (before?.text) before.text = before.text.trimEnd();
    if (isBreak) this.#addBreak();
    else this.#take(1);
  }

  #readEntity() {
    ENTITY.lastIndex = this.#at;
    const [written] = ENTITY.exec(this.#text) ?? ["&"];
    this.#addText(decodeEntities(written));
    this.#at += written.length;
  }

  #readCode() {
    const length = runLength(this.#text, this.#at);
    const start = this.#at + length;
    const end = this.#nextBackticks(length, start);
    if (end === undefined) return this.#take(length);
    const text = this.#text.slice(start, end).replaceAll("\n", " ");
    const isPadded = text.startsWith(" ") && text.endsWith(" ") && text.trim() !== "";
    this.#at = end + length;
    return this.#add({ node: { kind: "code", text: isPadded ? text.slice(1, -1) : text } });
  }

  /** Where the next run of just so many backticks starts. All runs are looked up once, and only ever left behind. */
  #nextBackticks(length, from) {
    this.#backticks ??= findBackticks(this.#text);
    const starts = this.#backticks.get(length);
    while (starts.at(-1) < from) starts.pop();
    return starts.at(-1);
  }

  #readMark(character) {
    const before = this.#text[this.#at - 1] ?? "\n";
    const token = this.#take(runLength(this.#text, this.#at));
    this.#marks.add(token, { character, before, after: this.#text[this.#at] ?? "\n" });
  }

  #openBracket(opening) {
    if (!this.#text.startsWith(opening, this.#at)) return this.#take(1);
    return this.#brackets.push({ token: this.#take(opening.length), mark: this.#marks.last, start: this.#at, isImage: opening === "![" });
  }

  #closeBracket() {
    const opener = this.#brackets.pop();
    const target = opener && this.#readLinkTarget(opener);
    if (!target) return this.#take(1);
    this.#marks.pair(opener.mark);
    opener.token.text = "";
    opener.token.opens = [{ kind: opener.isImage ? "image" : "link", address: target.address, title: target.title, children: [] }];
    this.#add({ text: "", closes: 1 });
    this.#at = target.end;
    // A link holds no other link.
    if (!opener.isImage) this.#brackets.length = 0;
    return opener;
  }

  /** {address, title, end} of what stands behind the closing bracket, or is defined elsewhere; null if there is none. */
  #readLinkTarget(opener) {
    const written = readTarget(this.#text, this.#at + 1);
    if (written) {
      const address = readAddress(written.address);
      return address && { address, title: written.title, end: written.end };
    }
    const own = this.#label(opener.start, this.#at);
    const end = this.#at + 1;
    if (this.#text[end] !== "[") return this.#definition(own, end);
    const closing = this.#text.slice(end, end + MAX_LABEL).indexOf("]");
    const label = closing > 1 ? this.#label(end + 1, end + closing) : own;
    return closing > 0 ? this.#definition(label, end + closing + 1) : null;
  }

  #label(start, end) {
    return end - start > MAX_LABEL ? "" : labelKey(this.#text.slice(start, end));
  }

  #definition(label, end) {
    const definition = this.#definitions.get(label);
    return definition ? { ...definition, end } : null;
  }

  #readLoneAddress(read) {
    const found = read(this.#text, this.#at);
    const address = found && readAddress(found.address);
    if (!address?.isOpen) return this.#take(1);
    this.#at = found.end;
    return this.#add({ node: { kind: "link", address, title: "", children: [found.shown] } });
  }
}

function runLength(text, at) {
  let end = at + 1;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

/** {length of a run: where such runs start, the first one last}. */
function findBackticks(text) {
  const runs = new Map();
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].reverse()) {
    if (runs.has(run.length)) runs.get(run.length).push(index);
    else runs.set(run.length, [index]);
  }
  return runs;
}

/** Spans nested too deep are drawn as if they were not there: their text stays. */
function buildTree(tokens) {
  const open = [[]];
  const append = (text) => {
    const children = open.at(-1);
    if (typeof children.at(-1) === "string") children.push(children.pop() + text);
    else children.push(text);
  };
  for (const { text, node, closes = 0, opens = [] } of tokens) {
    if (closes) open.length -= closes;
    if (node) open.at(-1).push(node);
    else if (text) append(text);
    // What was paired last stands outside.
    for (const span of opens.reverse()) {
      const isTooDeep = open.length > MAX_DEPTH;
      if (!isTooDeep) open.at(-1).push(span);
      open.push(isTooDeep ? open.at(-1) : span.children);
    }
  }
  return open[0];
}
