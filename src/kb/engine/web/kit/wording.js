// Numbers and times in words, in the language of the browser.

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const dateAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const plain = new Intl.NumberFormat();

const STEPS = [
  ["minute", 60],
  ["hour", 60],
  ["day", 24],
  ["week", 7],
];

/** "3 hours ago"; a date once it is a month ago. */
export function ago(time, now = Date.now()) {
  let amount = (Date.parse(time) - now) / 1000;
  if (Math.abs(amount) < 45) return "just now";
  if (Math.abs(amount) > 30 * 86_400) return day.format(new Date(time));
  let unit = "second";
  for (const [larger, size] of STEPS) {
    if (Math.abs(amount) < size) break;
    amount /= size;
    unit = larger;
  }
  return relative.format(Math.round(amount), unit);
}

export const at = (time) => dateAndTime.format(new Date(time));

export const count = (number, one, many = `${one}s`) => `${plain.format(number)} ${number === 1 ? one : many}`;

export const BYTES_PER_MB = 1_048_576;

export function bytes(number) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${plain.format(unit && number < 10 ? Math.round(number * 10) / 10 : Math.round(number))} ${units[unit]}`;
}

export function seconds(number) {
  if (number < 90) return count(Math.max(1, Math.round(number)), "second");
  return count(Math.round(number / 60), "minute");
}

/** Where in its document a passage stands: "Water › Pump". Documents often begin with their title as a heading, which is not said again. */
export function headingWithin({ title, heading }) {
  const path = heading ? ` > ${heading}` : "";
  const below = `${path} > `.startsWith(` > ${title} > `) ? path.slice(title.length + 3) : path;
  return below.split(" > ").slice(1).join(" › ");
}

const TYPES = {
  note: "Note", pdf: "PDF", docx: "Word", pptx: "Slides", xlsx: "Spreadsheet", html: "Web page", image: "Picture", svg: "Drawing",
  md: "Markdown", txt: "Text", csv: "Table", json: "JSON", code: "Code", eml: "Mail", epub: "Book", odt: "OpenDocument", rtf: "Rich text",
};

export const typeName = (docType) => TYPES[docType] ?? docType;
