// All files on their way: a few are sent at a time, and what becomes of their jobs comes from the event stream.
//
// Thousands may wait: of each only the browser's reference to the file is held. What passes by itself (the engine is away, its
// queue is full, the key is missing) is waited for; what concerns one file is told of that file, and the others go on.

import { Problem, Unreachable } from "../kit/calling.js";
import * as engine from "../kit/engine.js";
import { changes } from "../kit/events.js";
import { tellProblem } from "../kit/notices.js";
import { Addition } from "./addition.js";
import { findObstacle } from "./limits.js";

const SENT_AT_ONCE = 3;
// One list of jobs tells of so many.
const MOST_WITH_THE_ENGINE = 1000;
const AGAIN_AFTER_MS = 5000;

class Additions extends EventTarget {
  list = [];
  /** What everything here is to be tagged with. */
  tags = [];
  #waiting = [];
  #sending = 0;
  #byJob = new Map();
  // A job may be told of before the answer to its own request is here.
  #early = new Map();
  #looking = 0;

  constructor() {
    super();
    changes.addEventListener("job", ({ detail: job }) => this.#hear(job));
    changes.addEventListener("missed", () => this.#lookAgain());
    changes.addEventListener("back", () => this.#lookAgain());
  }

  /** [{file, name?, folder?, tags?, metadata?, sourcePath?}] */
  add(files) {
    const added = files.map((file) => new Addition(file));
    // Not push(...): a folder may hold more files than a call takes arguments.
    this.list = this.list.concat(added);
    this.#queue(added);
    return added;
  }

  async cancel(addition) {
    addition.giveUp();
    if (addition.state === "working") await this.#ask(addition, engine.cancelJob);
    this.#tell();
  }

  /** What still waits here at once, jobs one after the other. */
  async cancelAll() {
    const meant = this.list.filter(({ isUnderWay }) => isUnderWay);
    for (const addition of meant) addition.giveUp();
    this.#tell();
    for (const addition of meant) if (addition.state === "working") await this.#ask(addition, engine.cancelJob);
    this.#tell();
  }

  async retryAll() {
    for (const addition of this.list.filter(({ state }) => state === "failed")) await this.retry(addition);
  }

  /** A job is tried again where it is; what never became one, or is forgotten by now, is sent again. */
  async retry(addition) {
    const { job } = addition;
    addition.wait();
    if (job && (await this.#retryJob(addition, job))) return this.#tell();
    return this.#queue([addition]);
  }

  /** Take away what is not under way. */
  clear() {
    this.list = this.list.filter((addition) => addition.isUnderWay);
    if (this.list.length === 0) this.tags = [];
    this.#tell();
  }

  /** Tags for all that is here: sent along with what is still to be sent, and added to what is there already. */
  tagWith(tags) {
    this.tags = tags;
    this.#tell();
    for (const addition of this.list) this.#tag(addition);
  }

  get isSending() {
    return this.#sending > 0 || this.#waiting.some(({ state }) => state === "waiting");
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }

  #queue(additions) {
    this.#waiting = this.#waiting.concat(additions);
    this.#tell();
    this.#sendNext();
  }

  #sendNext() {
    if (this.#byJob.size >= MOST_WITH_THE_ENGINE) this.#looking ||= setTimeout(() => this.#lookAgain(), AGAIN_AFTER_MS);
    while (this.#sending < SENT_AT_ONCE && this.#byJob.size < MOST_WITH_THE_ENGINE && this.#waiting.length > 0) {
      const addition = this.#waiting.shift();
      if (addition.state === "waiting") this.#send(addition);
    }
  }

  async #send(addition) {
    this.#sending += 1;
    const signal = addition.begin();
    try {
      while (!(await this.#trySending(addition, signal))) await untilLater(signal);
    } catch (error) {
      if (error.name === "AbortError") addition.state = "cancelled";
      else addition.fail(error.message);
    }
    this.#sending -= 1;
    if (this.#sending === 0) this.#early.clear();
    this.#tell();
    this.#sendNext();
  }

  /** False if it should be tried again later. */
  async #trySending(addition, signal) {
    try {
      const obstacle = await findObstacle(addition);
      if (obstacle) addition.fail(obstacle);
      else this.#follow(addition, await this.#upload(addition, signal));
      return true;
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (error instanceof Unreachable) await requireReadable(addition.file);
      addition.fraction = 0;
      return false;
    }
  }

  #upload(addition, signal) {
    const tags = [...new Set([...addition.tags, ...this.tags])];
    addition.tags = tags;
    const { file, name, metadata, sourcePath, key } = addition;
    const onProgress = (fraction) => {
      addition.fraction = fraction;
      this.#tell();
    };
    return engine.addFile({ file, name, tags, metadata, sourcePath }, { key, onProgress, signal });
  }

  #follow(addition, job) {
    this.#byJob.set(job.id, addition);
    this.#hear(this.#early.get(job.id) ?? job);
    if (!addition.isWanted && addition.state === "working") this.#ask(addition, engine.cancelJob);
  }

  #hear(job) {
    const addition = this.#byJob.get(job.id);
    if (!addition) {
      if (this.#sending > 0) this.#early.set(job.id, job);
      return;
    }
    addition.follow(job);
    if (!addition.isUnderWay) {
      this.#byJob.delete(job.id);
      this.#tag(addition);
      this.#sendNext();
    }
    this.#tell();
  }

  async #ask(addition, what) {
    try {
      this.#hear(await what(addition.job.id));
    } catch (error) {
      // It was quicker: how it ended is told by the event.
      if (error.code !== "job_finished") tellProblem(error);
    }
  }

  async #retryJob(addition, job) {
    try {
      const again = await engine.retryJob(job.id);
      this.#byJob.set(job.id, addition);
      this.#hear(again);
      return true;
    } catch (error) {
      if (!(error instanceof Problem && [404, 409].includes(error.status))) tellProblem(error);
      return false;
    }
  }

  /** All jobs as they are now, after nobody listened for a while. */
  async #lookAgain() {
    clearTimeout(this.#looking);
    this.#looking = 0;
    if (this.#byJob.size === 0) return;
    try {
      const { jobs } = await engine.listJobs({ limit: MOST_WITH_THE_ENGINE });
      const told = new Map(jobs.map((job) => [job.id, job]));
      for (const id of [...this.#byJob.keys()]) this.#hear(told.get(id) ?? (await this.#jobOf(id)));
    } catch (error) {
      if (!(error instanceof Unreachable)) tellProblem(error);
    }
    this.#sendNext();
  }

  /** A job that the engine knows no more has failed; the file is still here. */
  #jobOf(id) {
    return engine.getJob(id).catch((error) => {
      if (error.status !== 404) throw error;
      return { id, status: "failed", progress: 0, error: { message: "The engine knows nothing of it any more. Try again." } };
    });
  }

  async #tag(addition) {
    const missing = this.tags.filter((tag) => !addition.tags.includes(tag));
    if (missing.length === 0 || !["added", "known"].includes(addition.state)) return;
    addition.tags = [...addition.tags, ...missing];
    try {
      await engine.changeTags(addition.job.document_id, { add: missing });
    } catch (error) {
      tellProblem(error);
    }
  }
}

/** Whether it would go well a little later. */
function isPassing(error) {
  return error instanceof Unreachable || (error instanceof Problem && [429, 503].includes(error.status));
}

/** A file that was changed or taken away looks to the browser like an engine that is not there. */
async function requireReadable(file) {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new Error("The file was changed, moved or deleted since it was chosen. Add it again.");
  }
}

function untilLater(signal) {
  return new Promise((resolve, reject) => {
    const leave = (how) => () => {
      clearTimeout(timer);
      changes.removeEventListener("back", goOn);
      how(signal.reason);
    };
    const goOn = leave(resolve);
    const timer = setTimeout(goOn, AGAIN_AFTER_MS);
    changes.addEventListener("back", goOn);
    signal.addEventListener("abort", leave(reject), { once: true });
  });
}

export const additions = new Additions();
