// What stands around every view: the rail, the buttons on top, and the keys that work everywhere.

import { ask } from "./kit/dialogs.js";
import { byId, el, fill } from "./kit/dom.js";
import { icon } from "./kit/icons.js";
import { announce } from "./kit/notices.js";
import { go, placeOf } from "./kit/router.js";
import { addShortcuts, listShortcuts } from "./kit/shortcuts.js";
import { currentTheme, onTheme, switchTheme } from "./kit/theme.js";
import { chooseFiles } from "./tray/choosing.js";

const RAIL = [
  ["search", "/", "Search"],
  ["documents", "/documents", "Documents"],
  ["map", "/map", "Map"],
  ["jobs", "/jobs", "Jobs"],
  ["status", "/status", "Status"],
  ["connect", "/connect", "Connect"],
];

const KEY_NAMES = { ArrowDown: "↓", ArrowUp: "↑", "Mod+k": "Ctrl K", "Mod+Enter": "Ctrl ↵", Enter: "↵", Escape: "Esc", " ": "Space" };

export function fillFrame() {
  fill(byId("rail"), RAIL.map(([name, path, label]) => el("a", { href: placeOf(path), data: { view: name } }, icon(name), el("span", {}, label))));
  fill(
    byId("actions"),
    el("a", { class: "button", href: placeOf("/notes/new"), aria: { label: "New note" } }, icon("note"), el("span", { class: "wide" }, "New note")),
    el("button", { class: "button primary", type: "button", aria: { label: "Add files" }, on: { click: chooseFiles } }, icon("add"), el("span", { class: "wide" }, "Add files")),
    themeButton(),
    el("button", { class: "icon-button wide", type: "button", aria: { label: "Keys" }, title: "Keys (?)", on: { click: showKeys } }, icon("help")),
  );
  document.querySelector(".skip").addEventListener("click", skipToContent);
  addShortcuts([
    { keys: "n", does: "Write a note", run: () => go("/notes/new") },
    { keys: "u", does: "Add files", run: chooseFiles },
    { keys: "?", does: "Show these keys", run: showKeys },
  ]);
}

export function markCurrentView(name) {
  const family = name.replace(/\/.*/, "").replace("notes", "documents");
  for (const link of byId("rail").children) {
    if (link.dataset.view === family) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** A line across the page for as long as the engine does not answer. */
export function showConnection(isThere) {
  document.querySelector(".lost")?.remove();
  if (isThere) return announce("The engine answers again.");
  const words = "The engine does not answer. Nothing is lost: this page goes on when it is back.";
  byId("content").before(el("p", { class: "lost", role: "alert" }, words));
}

/** What stands behind the # is a place, so this link cannot simply be followed. */
function skipToContent(event) {
  event.preventDefault();
  byId("content").focus();
}

function themeButton() {
  const label = () => `Colours: ${{ auto: "as the system", light: "light", dark: "dark" }[currentTheme()]}`;
  const button = el("button", { class: "icon-button", type: "button", title: label(), aria: { label: label() }, on: { click: switchTheme } }, icon("theme"));
  onTheme(() => {
    // The system may have turned dark, which is nobody's choice.
    if (button.title === label()) return;
    button.setAttribute("aria-label", label());
    button.title = label();
    announce(label());
  });
  return button;
}

function showKeys() {
  const rows = listShortcuts().flatMap(({ keys, does }) => [el("dt", {}, el("kbd", {}, KEY_NAMES[keys] ?? keys)), el("dd", {}, does)]);
  ask({ title: "Keys", body: el("dl", { class: "keys" }, rows) });
}
