// Line drawings on a field of 24, in the colour of the text around them.

import { svg } from "./dom.js";

const PATHS = {
  search: "M10.500 4a6.500 6.500 0 1 1 0 13 6.500 6.500 0 0 1 0-13zM15.300 15.300 20 20",
  documents: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  note: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  map: "M12 5a2 2 0 1 1 0 .1M5 14a2 2 0 1 1 0 .1M17 17a2 2 0 1 1 0 .1M18.500 9.500a1.500 1.500 0 1 1 0 .1",
  jobs: "M4 6h10M4 12h16M4 18h7M18 4v5M15.500 6.500h5",
  status: "M3 12h4l3-7 4 14 3-7h4",
  connect: "M9 7V3M15 7V3M6 7h12v4a6 6 0 0 1-12 0zM12 17v4",
  add: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  upload: "M12 16V4M7 9l5-5 5 5M4 20h16",
  close: "M6 6l12 12M18 6 6 18",
  theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  help: "M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.200-1.500 2.400M12 17.500v.1M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18z",
  tag: "M4 4h8l8 8-8 8-8-8zM8 8v.1",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
  download: "M12 4v12M7 11l5 5 5-5M4 20h16",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  history: "M4 5v5h5M4.600 10A8 8 0 1 1 4 14M12 8v5l3 2",
  retry: "M20 5v5h-5M19.400 10A8 8 0 1 0 20 14",
  back: "M15 5l-7 7 7 7",
  next: "M9 5l7 7-7 7",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  check: "M5 13l4 4L19 7",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M9 9v.1",
  warning: "M12 4 2.500 20h19zM12 10v4M12 17v.1",
};

export function icon(name) {
  const path = svg("path", { d: PATHS[name] });
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, path);
}
