// One request to the engine: the key in its header, problems as errors.

import { readKey } from "./key.js";
import { queryString } from "./query.js";

const API = "/api/v1";

/** What the engine answered instead: `code` for programs, `message` for people, `problem` as it came. */
export class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `The engine answered with ${status}.`);
    this.status = status;
    this.code = problem.code ?? "unknown";
    this.problem = problem;
  }
}

export class Unreachable extends Error {
  constructor() {
    super("The engine cannot be reached. Is it running?");
  }
}

let askForKey = () => Promise.reject(new Error("Nobody can be asked for the key."));

/** How to come by a key when the engine asks for one; `ask(message)` resolves once a new one is kept. */
export function setKeyPrompt(ask) {
  askForKey = ask;
}

/**
 * `fetch` of a path below /api/v1 with the key. A missing or wrong key is asked for, and the request made again. `send` may
 * take the place of `fetch`.
 */
export async function request(path, { headers = {}, send = fetch, ...options } = {}) {
  for (;;) {
    const key = readKey();
    const authorization = key ? { Authorization: `Bearer ${key}` } : {};
    const response = await sendOrTell(send, API + path, { ...options, headers: { ...headers, ...authorization } });
    if (response.ok || response.status === 304) return response;
    const problem = new Problem(response.status, await readProblem(response));
    if (response.status !== 401) throw problem;
    // Another request may have got a new key meanwhile: then this one only has to be made again.
    if (readKey() === key) await askForKey(key ? problem.message : "");
  }
}

async function sendOrTell(send, url, options) {
  try {
    return await send(url, { ...options, cache: options.cache ?? "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable();
  }
}

async function readProblem(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}

/** The JSON of an answer; `query` may hold lists, and leaves out what is empty. */
export async function call(method, path, { query, body, ifMatch, headers = {}, signal, keepalive } = {}) {
  const sent = { ...headers, ...(ifMatch ? { "If-Match": ifMatch } : {}) };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const response = await request(path + queryString(query), {
    method,
    headers: sent,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    keepalive,
  });
  const answer = await response.json();
  return { answer, etag: response.headers.get("ETag") };
}
