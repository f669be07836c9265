// The marks of emphasis, and which two belong together: the delimiter stack of CommonMark.

const SPACE = /\s/;
const PUNCTUATION = /[\p{P}\p{S}]/u;

export class Marks {
  last = null;
  #position = 0;

  /** A run of `character` whose token says how many there are; `before` and `after` are its neighbours. */
  add(token, { character, before, after }) {
    const startsWord = !SPACE.test(after) && (!PUNCTUATION.test(after) || SPACE.test(before) || PUNCTUATION.test(before));
    const endsWord = !SPACE.test(before) && (!PUNCTUATION.test(before) || SPACE.test(after) || PUNCTUATION.test(after));
    // An underscore within a word is a letter: snake_case_name.
    const isStrict = character === "_";
    const canOpen = startsWord && (!isStrict || !endsWord || PUNCTUATION.test(before));
    const canClose = endsWord && (!isStrict || !startsWord || PUNCTUATION.test(after));
    const length = token.text.length;
    if ((!canOpen && !canClose) || (character === "~" && length !== 2)) return;
    this.#position += 1;
    const mark = { token, character, length, left: length, canOpen, canClose, position: this.#position, previous: this.last, next: null };
    if (this.last) this.last.next = mark;
    this.last = mark;
  }

  /** Pair the marks behind `bottom` (null: all of them), which are then done with. */
  pair(bottom) {
    // Below these positions there is no start for an end of that sort.
    const floors = new Map();
    let closer = this.#firstBehind(bottom);
    while (closer) {
      const opener = closer.canClose ? this.#findOpener(closer, bottom, floors) : null;
      if (opener) {
        join(opener, closer);
        this.#cut(opener, closer);
        if (opener.left === 0) this.#remove(opener);
      }
      const isSpent = closer.left === 0 || (!opener && !closer.canOpen);
      const { next } = closer;
      if (isSpent) this.#remove(closer);
      if (isSpent || !opener) closer = next;
    }
    this.last = bottom;
    if (bottom) bottom.next = null;
  }

  #firstBehind(bottom) {
    let first = null;
    for (let mark = this.last; mark && mark !== bottom; mark = mark.previous) first = mark;
    return first;
  }

  #findOpener(closer, bottom, floors) {
    const sort = `${closer.character}${closer.canOpen}${closer.length % 3}`;
    const floor = floors.get(sort) ?? bottom?.position ?? 0;
    for (let mark = closer.previous; mark && mark.position > floor; mark = mark.previous) {
      if (belongTogether(mark, closer)) return mark;
    }
    floors.set(sort, closer.position - 1);
    return null;
  }

  /** What stands between two that belong together pairs with nothing outside. */
  #cut(opener, closer) {
    opener.next = closer;
    closer.previous = opener;
  }

  #remove(mark) {
    if (mark.previous) mark.previous.next = mark.next;
    if (mark.next) mark.next.previous = mark.previous;
    else this.last = mark.previous;
  }
}

function belongTogether(opener, closer) {
  if (!opener.canOpen || opener.character !== closer.character) return false;
  // The rule of three, which makes *a**b* one emphasis with two asterisks in it.
  const isEither = opener.canClose || closer.canOpen;
  const sum = opener.length + closer.length;
  return !(isEither && sum % 3 === 0 && opener.length % 3 !== 0);
}

function join(opener, closer) {
  const used = opener.left >= 2 && closer.left >= 2 ? 2 : 1;
  const kind = opener.character === "~" ? "strike" : used === 2 ? "strong" : "emphasis";
  (opener.token.opens ??= []).push({ kind, children: [] });
  closer.token.closes = (closer.token.closes ?? 0) + 1;
  for (const mark of [opener, closer]) {
    mark.left -= used;
    mark.token.text = mark.token.text.slice(used);
  }
}
