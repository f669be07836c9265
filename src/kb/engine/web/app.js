// The page put together: the frame around the views, and which view a place shows.

import { fillFrame, markCurrentView, showConnection } from "./frame.js";
import { setKeyPrompt } from "./kit/calling.js";
import { byId, el } from "./kit/dom.js";
import { changes, followEvents } from "./kit/events.js";
import { onPlace, startRouter } from "./kit/router.js";
import { setViewShortcuts, startShortcuts } from "./kit/shortcuts.js";
import { applyTheme } from "./kit/theme.js";
import { promptForKey } from "./key_prompt.js";
import { startRailBadges } from "./rail_badges.js";
import { startSearchBox } from "./search_box.js";
import { startTray } from "./tray/tray.js";
import { findView, loadAllViews } from "./views.js";

let shown = { name: "", view: null };

/**
 * A view is a module with `title`, and `show(root, place)`: it draws itself into the empty `root` and answers an object with any of
 * `update(place)` (same view, other parameters), `leave()` and `shortcuts`.
 */
async function showPlace(place) {
  const { name, load } = findView(place);
  markCurrentView(name);
  if (shown.name === name && shown.view?.update) return shown.view.update(place);
  shown.view?.leave?.();
  setViewShortcuts();
  shown = { name, view: null };
  const current = shown;
  const module = await load().catch(() => NOT_LOADED);
  if (shown !== current) return;
  const root = byId("content");
  root.replaceChildren();
  root.dataset.view = name.replace(/\/.*/, "");
  document.title = `${module.title} · kb`;
  shown.view = module.show(root, place) ?? {};
  setViewShortcuts(shown.view.shortcuts);
  if (document.activeElement === document.body) root.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

/** In the place of a view that could not be loaded. Browsers remember that, so that only a page loaded anew can try again. */
const NOT_LOADED = {
  title: "Not loaded",
  show: (root) =>
    root.append(
      el("p", { class: "empty", role: "alert" }, "This view could not be loaded. Load the page anew once the engine is there."),
      el("button", { class: "button", type: "button", on: { click: () => location.reload() } }, "Reload"),
    ),
};

applyTheme();
setKeyPrompt(promptForKey);
fillFrame();
startSearchBox();
startShortcuts();
startTray();
startRailBadges();
onPlace(showPlace);
startRouter();
changes.addEventListener("lost", () => showConnection(false));
changes.addEventListener("back", () => showConnection(true));
followEvents();
// Once the first is there, and has shown what it fetches.
setTimeout(loadAllViews, 5000);
