// The one time that the engine's key is asked for.

import { ask } from "./kit/dialogs.js";
import { el } from "./kit/dom.js";
import { keepKey } from "./kit/key.js";

let asking = null;

/** Requests that need the key at the same time share one dialog. */
export function promptForKey(message) {
  asking ??= openPrompt(message).finally(() => (asking = null));
  return asking;
}

async function openPrompt(message) {
  const input = el("input", { id: "key", class: "input", type: "password", required: true, pattern: "\\s*[!-~]+\\s*", title: "Letters, digits and signs of ASCII, without spaces", autocomplete: "off", autofocus: true });
  const body = [
    el("div", { class: "field" }, el("label", { for: "key" }, "Key"), input),
    message && el("p", { class: "bad-text", role: "alert" }, message),
    el("p", { class: "hint" }, "What KB_API_KEY of the engine says. It is kept until you close this tab."),
  ];
  keepKey(await ask({ title: "This knowledge base has a key", body, submit: "Open", must: true, read: () => input.value.trim() }));
}
