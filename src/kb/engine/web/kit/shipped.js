// Files that come with the page. They hold nothing of the base, so no key goes with them.

import { Unreachable } from "./calling.js";

/** The engine was upgraded since the page was opened, and no longer has the files of that page. */
class OtherVersion extends Error {
  constructor() {
    super("The engine has another version of this page. Reload it.");
  }
}

async function read(path) {
  const response = await fetch(new URL(`../${path}`, import.meta.url)).catch(() => null);
  if (!response) throw new Unreachable();
  if (!response.ok) throw new OtherVersion();
  return response;
}

export const readShippedJson = async (path) => (await read(path)).json();
export const readShippedBlob = async (path) => (await read(path)).blob();
