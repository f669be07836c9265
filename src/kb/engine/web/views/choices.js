// What both lists of the page, hits and documents, can be narrowed by.

import { tagChip } from "../actions/tag_chips.js";
import { el, fill } from "../kit/dom.js";
import { typeName } from "../kit/wording.js";

const SHOWN_TAGS = 200;

export const option = (value, label) => el("option", { value }, label);

/** `byType` is what the engine's status tells: {pdf: 3}. */
export function offerTypes(select, byType) {
  const types = Object.entries(byType).sort((one, other) => other[1] - one[1]);
  fill(select, option("", "All types"), types.map(([type, number]) => option(type, `${typeName(type)} (${number})`)));
}

export function offerTags(select, tags) {
  const byCount = [...tags].sort((one, other) => other.count - one.count).slice(0, SHOWN_TAGS);
  fill(select, option("", "Tags"), byCount.map(({ name, count }) => option(name, `${name} (${count})`)));
}

/**
 * Draw the tags that are chosen, each a button that takes it away, and one for `clear` if there is something to clear.
 * Whoever was among them stays there, or goes on to `next`.
 */
export function showChosenTags(element, tags, { choose, clear, next }) {
  const chips = tags.map((tag) => {
    const remove = () => choose(tags.filter((other) => other !== tag));
    return tagChip(tag, { label: `Without the tag ${tag}`, on: true, remove });
  });
  if (clear) chips.push(el("button", { class: "text-button", type: "button", on: { click: clear } }, "Clear filters"));
  const hadFocus = element.contains(document.activeElement);
  fill(element, chips);
  if (hadFocus) (chips[0] ?? next).focus();
}
