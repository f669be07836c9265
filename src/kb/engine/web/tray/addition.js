// One file on its way into the base: waiting, being sent, then a job of the engine, and how that ended.

import { newIdempotencyKey } from "../kit/engine.js";

const UNDER_WAY = new Set(["waiting", "sending", "working"]);

export class Addition {
  state = "waiting";
  /** How much is done of what it is about now, 0..1. */
  fraction = 0;
  /** Why it failed, for people. */
  reason = "";
  job = null;
  isWanted = true;
  #sending = null;

  /** `folder` is where it stood in a folder that was added as a whole: of more of its path a browser does not tell. */
  constructor({ file, name = file.name, folder = "", tags = [], metadata = folder ? { folder } : undefined, sourcePath }) {
    Object.assign(this, { file, name, folder, tags, metadata, sourcePath });
  }

  get isUnderWay() {
    return UNDER_WAY.has(this.state);
  }

  get size() {
    return this.file.size;
  }

  /** Another try of one that failed or was given up. */
  wait() {
    Object.assign(this, { state: "waiting", fraction: 0, reason: "", job: null, isWanted: true });
  }

  /** What sending it has to know: a key under which the engine takes it only once, and when to stop. */
  begin() {
    this.#sending = new AbortController();
    this.key = newIdempotencyKey();
    this.state = "sending";
    return this.#sending.signal;
  }

  /** Nobody wants it any more. What is wholly sent will be a job in a moment, and is cancelled as that. */
  giveUp() {
    this.isWanted = false;
    if (this.state === "waiting") this.state = "cancelled";
    else if (this.fraction < 1) this.#sending.abort();
  }

  fail(reason) {
    Object.assign(this, { state: "failed", reason });
  }

  /** What the engine tells of its job. */
  follow(job) {
    this.job = job;
    this.fraction = job.progress;
    if (job.status === "completed") this.state = job.duplicate ? "known" : "added";
    else if (job.status === "failed") this.fail(job.error?.message ?? "The engine could not read it.");
    else this.state = job.status === "cancelled" ? "cancelled" : "working";
  }
}
