// Characters that are written in another way: \* and &amp;.

const ESCAPED = /\\([!-/:-@[-`{-~])/g;
const ENTITY = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g;

// Those that people write. All others stay as they are written.
const NAMES = new Map(Object.entries({
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", trade: "™", deg: "°", hellip: "…", mdash: "—", ndash: "–",
  laquo: "«", raquo: "»", ldquo: "“", rdquo: "”", lsquo: "‘", rsquo: "’", bull: "•", middot: "·", times: "×", euro: "€", pound: "£", sect: "§",
  larr: "←", rarr: "→", uarr: "↑", darr: "↓", check: "✓",
}));

export function decodeEntities(text) {
  return text.replace(ENTITY, (written, decimal, hex, name) => (name ? (NAMES.get(name) ?? written) : character(decimal, hex)));
}

export const unescapeText = (text) => decodeEntities(text.replace(ESCAPED, "$1"));

function character(decimal, hex) {
  const point = decimal ? Number.parseInt(decimal, 10) : Number.parseInt(hex, 16);
  const isOne = point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
  return isOne ? String.fromCodePoint(point) : "\ufffd";
}
