// What happens in the base, as it happens: the engine's event stream, read with fetch so that the key stays in a header.
//
// `changes` tells `job`, `document_added`, `document_changed`, `document_deleted`, `everything_deleted`, `map_changed` and
// `missed` as they come (event.detail is what the engine told), and `lost` and `back` of the connection itself. After
// `back` all that was missed meanwhile has been or will be told, or `missed` says that it cannot be.
//
// A hidden tab does not listen: a browser opens no more than six connections to one engine, and six tabs would take
// them all. The number of the last event brings it up to date when it is looked at again.

import { request, Unreachable } from "./calling.js";

export const changes = new EventTarget();

// The engine says something every 15 seconds. Who hears nothing for longer speaks to nobody: the machine was asleep, or the network is gone.
const SILENT_AFTER_MS = 45_000;
const RETRY_AFTER_MS = [250, 1000, 2000, 5000];

let lastEventId = "";
let isLost = false;

/** Listen for as long as the page is there. */
export async function followEvents() {
  let failures = 0;
  for (;;) {
    await untilVisible();
    try {
      await listen(() => {
        failures = 0;
        tellConnection(false);
      });
    } catch (error) {
      // An engine with too many listeners is there all the same.
      if (!document.hidden && error.name !== "AbortError") tellConnection(error.status !== 429);
    }
    await wait(RETRY_AFTER_MS[Math.min(failures++, RETRY_AFTER_MS.length - 1)]);
  }
}

function tellConnection(lost) {
  if (lost === isLost) return;
  isLost = lost;
  changes.dispatchEvent(new CustomEvent(lost ? "lost" : "back"));
}

async function listen(onOpen) {
  const leaving = new AbortController();
  const leave = () => document.hidden && leaving.abort();
  let silence = 0;
  document.addEventListener("visibilitychange", leave);
  try {
    const headers = lastEventId ? { "Last-Event-ID": lastEventId } : {};
    const response = await request("/events", { headers, signal: leaving.signal });
    onOpen();
    // Without a number it goes on from now, and what happened since the view looked was told to nobody.
    if (!lastEventId) changes.dispatchEvent(new CustomEvent("missed"));
    await readStream(response.body, () => {
      clearTimeout(silence);
      silence = setTimeout(() => leaving.abort(new Unreachable()), SILENT_AFTER_MS);
    });
  } finally {
    clearTimeout(silence);
    document.removeEventListener("visibilitychange", leave);
  }
}

async function readStream(body, onWord) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    onWord();
    const { done, value } = await reader.read();
    if (done) return;
    const messages = (rest + value).split("\n\n");
    rest = messages.pop();
    for (const message of messages) tell(parseMessage(message));
  }
}

/** The fields of one message of an event stream. */
function parseMessage(message) {
  const fields = {};
  for (const line of message.split("\n")) {
    const [, name, value] = line.match(/^(\w+): ?(.*)$/) ?? [];
    if (name) fields[name] = name === "data" && fields.data ? `${fields.data}\n${value}` : value;
  }
  return fields;
}

function tell({ id, event, data }) {
  if (id) lastEventId = id;
  if (event) changes.dispatchEvent(new CustomEvent(event, { detail: JSON.parse(data || "null") }));
}

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function untilVisible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}
