// How the engine is: plain words first, then every fact it tells. It looks again by itself.

import { ask } from "../../kit/dialogs.js";
import { el, fill } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { changes } from "../../kit/events.js";
import { icon } from "../../kit/icons.js";
import { forgetKey, readKey } from "../../kit/key.js";
import { notify, tellProblem } from "../../kit/notices.js";
import { go } from "../../kit/router.js";
import { currentTheme, keepTheme } from "../../kit/theme.js";
import { count } from "../../kit/wording.js";
import { card, cardsOf } from "./facts.js";

export const title = "Status";

const LOOK_EVERY_MS = 5000;

export function show(root) {
  const health = el("section", { class: "health card", aria: { label: "Health" } });
  const cards = el("div", { class: "told-cards" });
  let told = "";
  const look = async () => {
    if (document.hidden) return;
    try {
      const status = await engine.getStatus();
      // Drawn only when there is something new: nobody loses what they have marked or are about to press.
      if (JSON.stringify(status) === told) return;
      told = JSON.stringify(status);
      fill(health, healthOf(status));
      health.dataset.status = status.health.status;
      fill(cards, cardsOf(status).map(([heading, facts]) => card(heading, facts)));
    } catch (error) {
      told = "";
      fill(health, icon("warning"), el("p", { role: "alert" }, error.message));
      health.dataset.status = "away";
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  changes.addEventListener("back", look);
  root.append(el("div", { class: "view-head" }, el("h1", {}, "Status")), health, el("div", { class: "fact-cards" }, cards, upkeep(), thisPage()));
  look();
  const leave = () => {
    clearInterval(timer);
    changes.removeEventListener("back", look);
  };
  return { leave };
}

function healthOf({ health, queue, documents }) {
  const { issues } = health;
  if (issues.length === 0) return [icon("check"), el("div", {}, el("h2", {}, "All is well"), el("p", { class: "soft" }, allIsWell(queue, documents)))];
  const head = `It works, with ${count(issues.length, "thing")} to know`;
  return [icon("warning"), el("div", {}, el("h2", {}, head), el("ul", {}, issues.map((issue) => el("li", {}, issue))))];
}

function allIsWell({ queued, running }, { total }) {
  const work = queued + running > 0 ? `${count(queued + running, "job")} under way.` : "Nothing waits to be read.";
  return `${count(total, "document")} can be searched by words and by meaning. ${work}`;
}

function upkeep() {
  const again = el("button", { class: "button", type: "button", on: { click: reindex } }, icon("retry"), "Make the index anew");
  return el(
    "section",
    { class: "card facts" },
    el("h2", {}, "Upkeep"),
    el("p", { class: "soft" }, "The index can always be made again from the originals. Search goes on meanwhile."),
    el("div", { class: "chips" }, again),
    el("p", { class: "soft" }, "In a terminal: ", el("code", {}, "kb export"), " writes all documents into one file, ", el("code", {}, "kb backup"), " copies the whole base, ", el("code", {}, "kb doctor"), " examines it."),
  );
}

async function reindex() {
  const words = "Every document is read again from its original. On a large base that takes a while; it runs in the background, and search goes on.";
  if (!(await ask({ title: "Make the index anew?", body: el("p", {}, words), submit: "Make it anew" }))) return;
  try {
    await engine.reindex();
    notify("The index is being made anew.", { action: { label: "Jobs", run: () => go("/jobs") } });
  } catch (error) {
    tellProblem(error);
  }
}

function thisPage() {
  const themes = [["auto", "As the system"], ["light", "Light"], ["dark", "Dark"]];
  const choice = ([theme, label]) => {
    const change = () => keepTheme(theme);
    return el("label", {}, el("input", { type: "radio", name: "theme", value: theme, checked: theme === currentTheme(), on: { change } }), " ", label);
  };
  return el("section", { class: "card facts" }, el("h2", {}, "This page"), el("fieldset", { class: "choices" }, el("legend", {}, "Colours"), themes.map(choice)), keptKey());
}

function keptKey() {
  if (!readKey()) return el("p", { class: "soft" }, "No key is kept in this tab.");
  const forget = () => {
    forgetKey();
    location.reload();
  };
  const words = el("p", { class: "soft" }, "The key is kept in this tab until it is closed.");
  return [words, el("div", { class: "chips" }, el("button", { class: "button", type: "button", on: { click: forget } }, "Forget the key"))];
}
