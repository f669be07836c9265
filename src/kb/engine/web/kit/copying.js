// Into the clipboard, and say so.

import { announce, notify } from "./notices.js";

export async function copyText(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    notify(said, { forMs: 2500 });
    announce(said);
  } catch {
    notify("The browser does not let this page write to the clipboard. Select the text and copy it yourself.", { kind: "bad" });
  }
}
