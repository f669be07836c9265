// Text that was dropped or pasted: it becomes a note once somebody has looked at it.

import { go } from "../kit/router.js";
import { additions } from "./additions.js";
import { pastedName } from "./naming.js";

// The editor gets it in the address, and browsers take no more there than this and a little.
const LONGEST_IN_ADDRESS = 200_000;

export function writeNoteOf(text) {
  if (encodeURIComponent(text).length <= LONGEST_IN_ADDRESS) go("/notes/new", { text });
  else additions.add([{ file: new File([text], pastedName("md")) }]);
}
