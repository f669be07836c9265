// Small numbers on the rail: jobs under way, and jobs that failed since somebody looked at them last.

import { byId, el } from "./kit/dom.js";
import * as engine from "./kit/engine.js";
import { changes } from "./kit/events.js";
import { onPlace } from "./kit/router.js";
import { count } from "./kit/wording.js";

const COUNT_EVERY_MS = 1500;

const failed = new Set();
let underWay = 0;
let timer = 0;

export function startRailBadges() {
  changes.addEventListener("job", ({ detail: job }) => {
    if (job.status === "failed") failed.add(job.id);
    else failed.delete(job.id);
    // Many jobs change in a moment: they are counted once.
    timer ||= setTimeout(countJobs, COUNT_EVERY_MS);
  });
  for (const event of ["missed", "back"]) changes.addEventListener(event, countJobs);
  onPlace(({ path }) => {
    if (path !== "/jobs") return;
    failed.clear();
    draw();
  });
  countJobs();
}

async function countJobs() {
  timer = 0;
  try {
    const { queue } = await engine.getStatus();
    underWay = queue.queued + queue.running;
    draw();
  } catch {
    // Whoever is on the page is told by the view; a badge that is late does no harm.
  }
}

function draw() {
  const link = byId("rail").querySelector("[data-view=jobs]");
  for (const badge of link.querySelectorAll(".badge, .badge-words")) badge.remove();
  const [number, kind, words] = failed.size > 0 ? [failed.size, "badge bad", "failed"] : [underWay, "badge", "under way"];
  if (number === 0) return;
  link.append(el("span", { class: kind, aria: { hidden: true } }, number > 99 ? "99+" : number), el("span", { class: "unseen badge-words" }, `, ${count(number, "job")} ${words}`));
}
