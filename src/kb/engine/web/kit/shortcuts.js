// What keys do. The page has some everywhere; a view adds its own while it is shown; `?` lists them all.

const everywhere = new Map();
let ofView = new Map();

/** `keys` is what `KeyboardEvent.key` says, with "Shift+" or "Mod+" (Ctrl or ⌘) in front. */
export function addShortcuts(list) {
  for (const shortcut of list) everywhere.set(shortcut.keys, shortcut);
}

/** [{keys, does, run}]; replaced when the next view is shown. */
export function setViewShortcuts(list = []) {
  ofView = new Map(list.map((shortcut) => [shortcut.keys, shortcut]));
}

export function listShortcuts() {
  return [...ofView.values(), ...everywhere.values()].filter((shortcut) => shortcut.does);
}

export function startShortcuts() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    const keys = nameKeys(event);
    const shortcut = ofView.get(keys) ?? everywhere.get(keys);
    if (!shortcut || (isTyping(event.target) && !shortcut.whileTyping)) return;
    if (shortcut.run(event) !== false) event.preventDefault();
  });
}

function nameKeys(event) {
  const modifier = event.ctrlKey || event.metaKey ? "Mod+" : "";
  // Of characters, Shift is already in the key: "?" is not "Shift+?".
  const shift = event.shiftKey && event.key.length > 1 ? "Shift+" : "";
  return modifier + (event.altKey ? "Alt+" : "") + shift + event.key;
}

export function isTyping(target) {
  return target instanceof Element && target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;
}
