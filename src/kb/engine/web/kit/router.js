// Where the page is: all of its state that matters stands in the address, behind the #.
//
//   #/documents/42?page=3&q=tide   ->   { path: "/documents/42", parts: ["documents", "42"], params }
//
// A view says `go` for a step that Back should undo, and `adjust` for one that it should not (typing, selecting).

import { queryString } from "./query.js";

const listeners = new Set();

export function currentPlace() {
  return parsePlace(location.hash.slice(1) || "/");
}

function parsePlace(text) {
  const [path, query = ""] = splitOnce(text.startsWith("/") ? text : `/${text}`, "?");
  const parts = path.split("/").filter(Boolean).map(decode);
  return { path, parts, params: new URLSearchParams(query) };
}

/** The address of a place, for links: `placeOf("/documents/42", {page: 3})`. Lists repeat; what is empty is left out. */
export const placeOf = (path, params) => `#${path}${queryString(params)}`;

export function go(path, params) {
  const place = placeOf(path, params);
  if (place === (location.hash || "#/")) return;
  history.pushState(null, "", place);
  tell();
}

export function adjust(path, params) {
  const place = placeOf(path, params);
  if (place === (location.hash || "#/")) return;
  history.replaceState(null, "", place);
  tell();
}

export function onPlace(listener) {
  listeners.add(listener);
}

export function startRouter() {
  window.addEventListener("popstate", tell);
  tell();
}

function tell() {
  const place = currentPlace();
  for (const listener of listeners) listener(place);
}

function splitOnce(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
