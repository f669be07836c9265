// Tags for everything that is in the tray.

import { LONGEST_TAG, suggestTags, tagChip } from "../actions/tag_chips.js";
import { el, fill, keepFocus } from "../kit/dom.js";

/** {element, draw()} of the field that sets the tags of `additions`. */
export function trayTags(additions) {
  const chips = el("div", { class: "chips" });
  const known = el("datalist", { id: "tray-known-tags" });
  const input = el("input", { class: "input", list: known.id, maxlength: LONGEST_TAG, autocomplete: "off", placeholder: "Tag all of these", aria: { label: "Tag all of these" } });
  const take = (event) => {
    event.preventDefault();
    const tag = input.value.trim();
    if (tag && !additions.tags.includes(tag)) additions.tagWith([...additions.tags, tag]);
    input.value = "";
  };
  input.addEventListener("focus", () => suggestTags(known));
  const drop = (tag) => {
    additions.tagWith(additions.tags.filter((other) => other !== tag));
    input.focus();
  };
  const element = el("form", { class: "tray-tags", on: { submit: take } }, chips, input, known, el("button", { class: "button", type: "submit" }, "Tag"));
  const chip = (tag) => tagChip(tag, { label: `Do not tag with ${tag}`, on: true, remove: () => drop(tag) });
  const draw = () => keepFocus(chips, "tag", () => fill(chips, additions.tags.map(chip)));
  return { element, draw };
}
