// Dark or light: the system's choice, until somebody makes another.

const NAME = "kb.theme";
const ORDER = ["auto", "light", "dark"];
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export function currentTheme() {
  const kept = localStorage.getItem(NAME);
  return ORDER.includes(kept) ? kept : "auto";
}

export function applyTheme(theme = currentTheme()) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  tell();
}

/** The window is told by an event "theme". */
export function keepTheme(theme) {
  localStorage.setItem(NAME, theme);
  applyTheme(theme);
  window.dispatchEvent(new Event("theme"));
}

export function switchTheme() {
  keepTheme(ORDER[(ORDER.indexOf(currentTheme()) + 1) % ORDER.length]);
}

/** For what is drawn by script, and does not follow by itself. Returns a function that ends it. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell() {
  for (const listener of listeners) listener();
}

systemIsDark.addEventListener("change", tell);
