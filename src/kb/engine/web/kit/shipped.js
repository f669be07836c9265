// Files that come with the page. They hold nothing of the base, so no key goes with them.

import { Unreachable } from "./calling.js";

async function read(path) {
  const response = await fetch(`/web/${path}`).catch(() => null);
  if (!response?.ok) throw new Unreachable();
  return response;
}

export const readShippedJson = async (path) => (await read(path)).json();
export const readShippedBlob = async (path) => (await read(path)).blob();
