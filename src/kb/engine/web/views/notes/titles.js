// The title that a note gets when nobody gives it one, as the engine derives it.

const MAX_CHARACTERS = 80;
const LOOKED_AT = 10_000;

export function derivedTitle(text) {
  const lines = text.slice(0, LOOKED_AT).split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/);
  const titles = lines.map((line) => line.trim().replace(/^#{1,6}\s+|\s+#+$/g, "")).filter(Boolean);
  return shorten(titles.find((title) => /[\p{L}\p{N}]/u.test(title)) ?? titles[0] ?? "");
}

function shorten(text) {
  const characters = [...text.split(/\s+/).filter(Boolean).join(" ")];
  if (characters.length <= MAX_CHARACTERS) return characters.join("");
  const head = characters.slice(0, MAX_CHARACTERS);
  const space = head.lastIndexOf(" ");
  return `${head.slice(0, space >= MAX_CHARACTERS / 2 ? space : -1).join("")}…`;
}
