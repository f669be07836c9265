// Where a link of a text may lead.

const OPEN = /^(?:https?:\/\/[^/?#]|mailto:[^/]|#\/)/i;
const SCHEME = /^[^/?#]*:/;
// Browsers drop some of these before they read the scheme, so "java\nscript:" would be one.
// eslint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\\]/;

/** {text, isOpen}: `isOpen` if it can be followed from here. Null for what is no address, or one that must not be followed. */
export function readAddress(written) {
  const text = written.trim().replaceAll(" ", "%20");
  if (text === "" || UNPRINTABLE.test(text)) return null;
  if (OPEN.test(text)) return { text, isOpen: true };
  return SCHEME.test(text) || text.startsWith("//") ? null : { text, isOpen: false };
}
