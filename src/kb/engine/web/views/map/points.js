// The documents of the map, and which of them is under the pointer: looked up in a grid, so that it takes no longer with ten thousand.

const CELLS = 64;

export class Points {
  constructor(documents) {
    this.documents = documents;
    this.#cells = new Map();
    documents.forEach((document, index) => {
      const cell = this.#cellOf(document.x, document.y);
      if (!this.#cells.has(cell)) this.#cells.set(cell, []);
      this.#cells.get(cell).push(index);
    });
  }

  #cells;

  /** The index of the document nearest to a place, none of which is farther than `radius`; -1 if there is none. */
  nearest(x, y, radius) {
    let [found, nearest] = [-1, radius * radius];
    for (const index of this.#around(x, y, radius)) {
      const document = this.documents[index];
      const distance = (document.x - x) ** 2 + (document.y - y) ** 2;
      if (distance <= nearest) [found, nearest] = [index, distance];
    }
    return found;
  }

  *#around(x, y, radius) {
    const [left, bottom] = [column(x - radius), column(y - radius)];
    const [right, top] = [column(x + radius), column(y + radius)];
    for (let i = left; i <= right; i += 1) {
      for (let j = bottom; j <= top; j += 1) yield* this.#cells.get(i * CELLS + j) ?? [];
    }
  }

  #cellOf(x, y) {
    return column(x) * CELLS + column(y);
  }
}

const column = (value) => Math.min(CELLS - 1, Math.max(0, Math.floor(((value + 1) / 2) * CELLS)));
