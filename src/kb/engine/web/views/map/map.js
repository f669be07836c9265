// The map of the base: documents that say alike lie together. Drag and zoom it, point to see a title, click to open.

import { el, fill } from "../../kit/dom.js";
import * as engine from "../../kit/engine.js";
import { changes } from "../../kit/events.js";
import { icon } from "../../kit/icons.js";
import { announce, tellProblem } from "../../kit/notices.js";
import { adjust, go, placeOf } from "../../kit/router.js";
import { onTheme } from "../../kit/theme.js";
import { count } from "../../kit/wording.js";
import { COLOURS, groupDocuments } from "./colouring.js";
import { drawMap, pointRadius } from "./drawing.js";
import { followGestures } from "./gestures.js";
import { Points } from "./points.js";
import { Viewport } from "./viewport.js";

export const title = "Map";

const LISTED = 30;
const SETTLED_MS = 200;
const RELOAD_AFTER_MS = 500;
const LIT = 100;
// Of the documents that answer a question, nine in ten have more than this.
const WORTH_LIGHTING = 0.3;

export function show(root, place) {
  return new MapView(root, place);
}

class MapView {
  #viewport = new Viewport();
  #points = new Points([]);
  #groups = [];
  #lit = null;
  #pointed = -1;
  #params = {};
  #isDirty = false;
  #settling = 0;
  #reloading = 0;
  #loading = new AbortController();
  #lighting = new AbortController();

  constructor(root, place) {
    this.#build(root);
    followGestures(this.canvas, {
      pan: (right, down) => this.#move(() => this.#viewport.panBy(right, down)),
      zoom: (left, top, factor) => this.#move(() => this.#viewport.zoomAt(left, top, factor)),
      point: (left, top) => this.#point(left === null ? -1 : this.#find(left, top)),
      press: (left, top) => this.#open(this.#find(left, top)),
    });
    this.resizing = new ResizeObserver(() => this.#resize());
    this.resizing.observe(this.canvas);
    this.unwatchTheme = onTheme(() => this.#redraw());
    for (const event of ["map_changed", "document_deleted", "everything_deleted", "back", "missed"]) changes.addEventListener(event, this.#reload);
    this.#readPlace(place);
    this.#load();
  }

  get shortcuts() {
    const pan = (right, down) => () => this.#move(() => this.#viewport.panBy(right, down));
    return [
      { keys: "+", does: "Nearer", run: () => this.#move(() => this.#viewport.zoomBy(1.4)) },
      { keys: "-", does: "Farther", run: () => this.#move(() => this.#viewport.zoomBy(1 / 1.4)) },
      { keys: "0", does: "The whole map", run: () => this.#move(() => this.#viewport.showAll()) },
      { keys: "ArrowLeft", does: "Move the map, also with the other arrows", run: pan(60, 0) },
      { keys: "ArrowRight", run: pan(-60, 0) },
      { keys: "ArrowUp", run: pan(0, 60) },
      { keys: "ArrowDown", run: pan(0, -60) },
    ];
  }

  update(place) {
    this.#readPlace(place);
  }

  leave() {
    this.#loading.abort();
    this.#lighting.abort();
    clearTimeout(this.#settling);
    clearTimeout(this.#reloading);
    this.resizing.disconnect();
    this.unwatchTheme();
    for (const event of ["map_changed", "document_deleted", "everything_deleted", "back", "missed"]) changes.removeEventListener(event, this.#reload);
  }

  #build(root) {
    this.canvas = el("canvas", { class: "map-canvas", tabindex: 0, role: "img", aria: { label: "Map of the documents. The list beside it names those in view." } });
    this.tip = el("p", { class: "map-tip", hidden: true, aria: { hidden: true } });
    this.legend = el("ul", { class: "legend", aria: { label: "Legend" } });
    this.state = el("p", { class: "soft small map-state" });
    this.list = el("ul", { class: "map-list" });
    this.listHead = el("h2", {}, "In view");
    this.light = el("input", { class: "input", type: "search", placeholder: "Light up what matches", aria: { label: "Light up what matches" } });
    this.light.addEventListener("input", () => this.#set({ q: this.light.value }));
    this.colour = el("select", { class: "select", aria: { label: "Colour by" } }, el("option", { value: "type" }, "Colour by type"), el("option", { value: "tag" }, "Colour by tag"));
    this.colour.addEventListener("change", () => this.#set({ by: this.colour.value === "type" ? "" : this.colour.value }));
    const zoom = (label, sign, act) => el("button", { class: "button", type: "button", aria: { label }, on: { click: () => this.#move(act) } }, sign);
    const zooms = el(
      "div",
      { class: "map-zooms" },
      zoom("Nearer", icon("add"), () => this.#viewport.zoomBy(1.4)),
      zoom("Farther", icon("minus"), () => this.#viewport.zoomBy(1 / 1.4)),
      zoom("All of the map", "All", () => this.#viewport.showAll()),
    );
    const head = el("div", { class: "view-head" }, el("h1", {}, "Map"), this.light, this.colour);
    const side = el("section", { class: "map-side", aria: { label: "Documents in view" } }, this.legend, this.listHead, this.list);
    root.append(head, el("div", { class: "map" }, el("div", { class: "map-field card" }, this.canvas, this.tip, zooms, this.state), side));
  }

  #readPlace({ params }) {
    const { q, by } = this.#params;
    this.#params = { q: params.get("q") ?? "", by: params.get("by") ?? "", view: params.get("view") ?? "" };
    if (this.light.value !== this.#params.q) this.light.value = this.#params.q;
    this.colour.value = this.#params.by || "type";
    if (this.#params.view) this.#viewport.lookAt(...this.#params.view.split(",").map(Number));
    else this.#viewport.showAll();
    if (by !== this.#params.by) this.#group();
    if (q !== this.#params.q) this.#lightUp();
    this.#redraw();
  }

  #set(change) {
    adjust("/map", { ...this.#params, ...change });
  }

  /** Soon, and once for many that are deleted or placed together. */
  #reload = () => {
    this.#reloading ||= setTimeout(() => {
      this.#reloading = 0;
      this.#load();
    }, RELOAD_AFTER_MS);
  };

  async #load() {
    this.#loading.abort();
    const { signal } = (this.#loading = new AbortController());
    try {
      const map = await engine.getMap(signal);
      this.#points = new Points(map.documents);
      this.#pointed = -1;
      // These are numbers in the old list; what is lit is looked for again below.
      this.#lit = null;
      this.state.textContent = describe(map);
      this.#group();
      this.#lightUp();
      this.#settle();
    } catch (error) {
      if (!signal.aborted) tellProblem(error);
    }
  }

  #group() {
    this.#groups = groupDocuments(this.#points.documents, this.#params.by || "type");
    const swatch = ({ isRest }, index) => el("span", { class: `swatch swatch-${isRest ? "rest" : index % COLOURS}` });
    fill(this.legend, this.#groups.map((group, index) => el("li", {}, swatch(group, index), `${group.label} (${group.indices.length})`)));
    this.#redraw();
  }

  async #lightUp() {
    this.#lighting.abort();
    const { signal } = (this.#lighting = new AbortController());
    const { q } = this.#params;
    if (!q.trim()) return this.#showLit(null);
    try {
      const { results } = await engine.search({ query: q, top: LIT, min_relevance: WORTH_LIGHTING, group_by: "document" }, signal);
      const found = new Set(results.map((hit) => hit.document_id));
      const lit = this.#points.documents.flatMap(({ id }, index) => (found.has(id) ? [index] : []));
      this.#showLit(new Set(lit));
      announce(`${count(lit.length, "document")} lit up`);
    } catch (error) {
      if (!signal.aborted) tellProblem(error);
    }
  }

  #showLit(lit) {
    this.#lit = lit;
    this.#settle();
  }

  #move(change) {
    change();
    this.#redraw();
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#settle(), SETTLED_MS);
  }

  /** What need not follow every frame: the address, and the list of what is in view. */
  #settle() {
    this.#redraw();
    this.#listInView();
    const { x, y, zoom } = this.#viewport;
    const isWhole = zoom === 1 && x === 0 && y === 0;
    const view = isWhole ? "" : [x, y, zoom].map((number) => number.toFixed(3)).join(",");
    if (view !== this.#params.view) this.#set({ view });
  }

  #listInView() {
    const { documents } = this.#points;
    const candidates = this.#lit ? [...this.#lit] : [...documents.keys()];
    const inView = candidates.filter((index) => this.#viewport.shows(documents[index].x, documents[index].y));
    const { x, y } = this.#viewport;
    const distance = (index) => (documents[index].x - x) ** 2 + (documents[index].y - y) ** 2;
    const shown = inView.sort((one, other) => distance(one) - distance(other)).slice(0, LISTED);
    this.listHead.textContent = `${this.#lit ? "Lit and in view" : "In view"}: ${inView.length}`;
    fill(this.list, shown.map((index) => this.#listItem(index)));
  }

  #listItem(index) {
    const { id, title: name } = this.#points.documents[index];
    const on = { mouseenter: () => this.#point(index), focus: () => this.#point(index), mouseleave: () => this.#point(-1), blur: () => this.#point(-1) };
    return el("li", {}, el("a", { href: placeOf(`/documents/${id}`), on }, name));
  }

  #find(left, top) {
    const radius = pointRadius(this.#viewport.zoom, this.#points.documents.length) + 6;
    return this.#points.nearest(...this.#viewport.toMap(left, top), radius / this.#viewport.scale);
  }

  #point(index) {
    if (index === this.#pointed) return;
    this.#pointed = index;
    this.canvas.classList.toggle("pointing", index >= 0);
    const document = this.#points.documents[index];
    this.tip.hidden = !document;
    if (document) {
      const [left, top] = this.#viewport.toScreen(document.x, document.y);
      fill(this.tip, el("strong", {}, document.title), el("span", {}, [document.doc_type, ...document.tags.slice(0, 3)].join(" · ")));
      this.tip.style.left = `${Math.min(Math.max(left, 110), this.#viewport.width - 110)}px`;
      this.tip.style.top = `${top + 14}px`;
    }
    this.#redraw();
  }

  #open(index) {
    if (index >= 0) go(`/documents/${this.#points.documents[index].id}`, { q: this.#params.q });
  }

  #resize() {
    const { clientWidth, clientHeight } = this.canvas;
    this.#viewport.resize(clientWidth, clientHeight);
    this.canvas.width = Math.round(clientWidth * devicePixelRatio);
    this.canvas.height = Math.round(clientHeight * devicePixelRatio);
    this.#redraw();
    this.#listInView();
  }

  #redraw() {
    if (this.#isDirty) return;
    this.#isDirty = true;
    requestAnimationFrame(() => {
      this.#isDirty = false;
      const context = this.canvas.getContext("2d");
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      drawMap(context, this.#viewport, this.#scene());
    });
  }

  #scene() {
    const { color: text, backgroundColor: ground } = getComputedStyle(this.canvas);
    const colours = [...this.legend.querySelectorAll(".swatch")].map((swatch) => getComputedStyle(swatch).backgroundColor);
    return { documents: this.#points.documents, groups: this.#groups, colours, text, ground, lit: this.#lit, pointed: this.#pointed };
  }
}

function describe({ placed, total, state }) {
  if (total === 0) return "Nothing to show yet: the base is empty.";
  if (placed === 0) return "The map is being drawn. It appears here when it is done.";
  const told = placed < total ? `${placed} of ${count(total, "document")}` : count(total, "document");
  return state === "computing" ? `${told}; more are being placed` : told;
}
