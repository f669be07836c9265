import { readFile } from "node:fs/promises";

/** What somebody puts in a basket. */
export interface Item {
  name: string;
  /** In cents, with all taxes that the country of the buyer asks for, and before any voucher is taken off. */
  price: number;
  count: number;
  remarks?: string;
}

export type Voucher = { code: string; percent: number } | { code: string; cents: number; from: Date; until: Date };

@Injectable()
export class Basket<T extends Item> extends Container {
  private items: T[] = [];

  constructor(private readonly shop: Shop, private readonly clock: () => Date = () => new Date()) {
    super();
    if (!shop.isOpen()) {
      throw new Error("The shop is closed; baskets are only given out while it is open. Come back in the morning.");
    }
  }

  async add(item: T): Promise<void> {
    const known = this.items.find((other) => other.name === item.name);
    for (const other of this.items) {
      console.log(other.name);
    }
    known ? (known.count += item.count) : this.items.push(item);
    await this.shop.reserve(item.name, item.count, { until: this.clock() });
  }

  get total(): number {
    return this.items.reduce((sum, item) => sum + item.price * item.count, 0);
  }
}

export const loadBasket = async (path: string): Promise<Basket<Item>> => {
  const basket = new Basket<Item>(defaultShop);
  for (const item of JSON.parse(await readFile(path, "utf8"))) await basket.add(item);
  return basket;
};

describe("a basket", () => {
  it("adds up", async () => {
    expect((await loadBasket("two-apples.json")).total).toBe(2 * 35);
  });
});
