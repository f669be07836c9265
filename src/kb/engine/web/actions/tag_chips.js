// What every field of tags is made of.

import { el, fill } from "../kit/dom.js";
import * as engine from "../kit/engine.js";
import { icon } from "../kit/icons.js";
import { tellProblem } from "../kit/notices.js";

export const LONGEST_TAG = 200;

/** A button that takes a tag away, which is what `label` says of it. */
export function tagChip(tag, { label, on = false, remove }) {
  return el("button", { class: on ? "chip on" : "chip", type: "button", data: { tag }, aria: { label }, on: { click: remove } }, tag, icon("close"));
}

/** Have an input suggest the tags that there are now: `known` is its datalist. */
export function suggestTags(known) {
  engine.listTags().then((tags) => fill(known, tags.map(({ name }) => el("option", { value: name }))), tellProblem);
}
