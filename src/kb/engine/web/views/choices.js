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

export const removableTag = (tag, remove) => tagChip(tag, { label: `Without the tag ${tag}`, on: true, remove });
