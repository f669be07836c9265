// Nodes, made from values. Text is only ever text: there is no way here from a string to markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * A new element. Properties: `class`, `on` ({event: listener}), `data` ({name: value}), `aria` ({name: value}); of the
 * others, true sets an attribute without a value, and false, null and undefined set none. Children: nodes, strings,
 * lists of them; null, undefined and false are left out.
 */
export function el(tag, properties = {}, ...children) {
  return furnish(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), properties, children);
}

function furnish(element, { on = {}, data = {}, aria = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  for (const [name, value] of Object.entries(aria)) setAttribute(element, `aria-${name}`, value === undefined ? null : String(value));
  for (const [name, value] of Object.entries(data)) element.dataset[name] = value;
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  element.append(...flatten(children));
  return element;
}

function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  // A value is the state of a control, not what it starts with.
  if (name === "value") element.value = value;
  else element.setAttribute(name, value === true ? "" : value);
}

function flatten(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Make these the only children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...flatten(children));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** For a list that is drawn anew while somebody is in it: whoever had the focus has it again. */
export function keepFocus(container, key, draw) {
  const focused = container.contains(document.activeElement) ? document.activeElement.closest(`[data-${key}]`) : null;
  const name = focused?.dataset[key];
  draw();
  if (name !== undefined) container.querySelector(`[data-${key}="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
}
