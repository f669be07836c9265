// A place that is none.

import { el } from "../kit/dom.js";
import { placeOf } from "../kit/router.js";

export const title = "Not found";

export function show(root) {
  root.append(
    el("h1", {}, "There is nothing here"),
    el("p", {}, "The address may be mistyped, or what it showed is gone. ", el("a", { href: placeOf("/") }, "Search")),
  );
}
