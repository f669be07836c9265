// Dark or light: the system's choice, until somebody makes another.

const NAME = "kb.theme";
const ORDER = ["auto", "light", "dark"];
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export function currentTheme() {
  const kept = localStorage.getItem(NAME);
  return ORDER.includes(kept) ? kept : "auto";
}

export function applyTheme() {
  const theme = currentTheme();
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  tell();
}

export function keepTheme(theme) {
  localStorage.setItem(NAME, theme);
  applyTheme();
}

export function switchTheme() {
  keepTheme(ORDER[(ORDER.indexOf(currentTheme()) + 1) % ORDER.length]);
}

/** For what does not follow by itself. Also told when the system turns dark or light. Returns a function that ends it. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell() {
  for (const listener of listeners) listener();
}

systemIsDark.addEventListener("change", tell);
