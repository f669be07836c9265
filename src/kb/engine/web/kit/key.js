// The engine's key: asked for once, kept for the tab, sent in a header and nowhere else.

const NAME = "kb.key";

export function readKey() {
  return sessionStorage.getItem(NAME) ?? "";
}

export function keepKey(key) {
  sessionStorage.setItem(NAME, key);
}

export function forgetKey() {
  sessionStorage.removeItem(NAME);
}
