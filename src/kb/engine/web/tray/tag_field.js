// Tags for everything that is in the tray.

import { el, fill, keepFocus } from "../kit/dom.js";
import * as engine from "../kit/engine.js";
import { icon } from "../kit/icons.js";
import { tellProblem } from "../kit/notices.js";

const LONGEST_TAG = 200;

/** {element, draw()} of the field that sets the tags of `additions`. */
export function tagField(additions) {
  const chips = el("div", { class: "chips" });
  const known = el("datalist", { id: "tray-known-tags" });
  const input = el("input", { class: "input", list: known.id, maxlength: LONGEST_TAG, autocomplete: "off", placeholder: "Tag all of these", aria: { label: "Tag all of these" } });
  const suggest = async () => {
    try {
      fill(known, (await engine.listTags()).map(({ name }) => el("option", { value: name })));
    } catch (error) {
      tellProblem(error);
    }
  };
  const take = (event) => {
    event.preventDefault();
    const tag = input.value.trim();
    if (tag && !additions.tags.includes(tag)) additions.tagWith([...additions.tags, tag]);
    input.value = "";
  };
  input.addEventListener("focus", suggest);
  const drop = (tag) => {
    additions.tagWith(additions.tags.filter((other) => other !== tag));
    input.focus();
  };
  const element = el("form", { class: "tray-tags", on: { submit: take } }, chips, input, known, el("button", { class: "button", type: "submit" }, "Tag"));
  const draw = () => keepFocus(chips, "tag", () => fill(chips, additions.tags.map((tag) => tagChip(tag, () => drop(tag)))));
  return { element, draw };
}

function tagChip(tag, remove) {
  return el("button", { class: "chip on", type: "button", data: { tag }, aria: { label: `Do not tag with ${tag}` }, on: { click: remove } }, tag, icon("close"));
}
