// The search box on top of every view. What is typed goes into the address; the search view reads it from there.

import { byId } from "./kit/dom.js";
import { adjust, currentPlace, go, onPlace } from "./kit/router.js";
import { addShortcuts } from "./kit/shortcuts.js";

export function startSearchBox() {
  const box = byId("query");
  box.addEventListener("input", () => type(box.value));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && box.value) {
      event.preventDefault();
      box.value = "";
      type("");
    } else if (event.key === "Escape") box.blur();
  });
  // Somebody may have been quicker than this script.
  if (box.value && currentPlace().path === "/") type(box.value);
  onPlace((place) => showQuery(box, place));
  addShortcuts([
    { keys: "/", does: "Search", run: () => enter(box) },
    { keys: "Mod+k", whileTyping: true, run: () => enter(box) },
  ]);
  if (currentPlace().path === "/") box.focus();
}

function type(query) {
  const { path, params } = currentPlace();
  // From another view it is a step that Back undoes; while typing each letter is not.
  if (path !== "/") go("/", { q: query });
  else adjust("/", { ...Object.fromEntries(params), tag: params.getAll("tag"), q: query, at: "" });
}

function showQuery(box, { path, params }) {
  const query = path === "/" ? (params.get("q") ?? "") : "";
  if (box.value !== query) box.value = query;
}

function enter(box) {
  box.focus();
  box.select();
}
