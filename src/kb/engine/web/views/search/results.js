// The list of hits. Each is a link that opens its document where the words are; arrows move between them.

import { el, fill, keepFocus } from "../../kit/dom.js";
import { markedSnippet } from "../../kit/found_words.js";
import { icon } from "../../kit/icons.js";
import { placeOf } from "../../kit/router.js";
import { ago, headingWithin, typeName } from "../../kit/wording.js";

export class Results {
  element = el("ol", { class: "results", aria: { label: "Results" } });
  hits = [];
  #q = "";

  /** `onSelect(hit)` is called when a hit gets the focus or the pointer rests on it. */
  constructor(onSelect) {
    this.element.addEventListener("focusin", (event) => onSelect(this.#hitOf(event.target)));
    // Not pointerover: a list that moves under a pointer at rest tells that too, and nobody pointed.
    this.element.addEventListener("pointermove", (event) => {
      const hit = event.pointerType === "mouse" && !event.target.closest?.(".selected") && this.#hitOf(event.target);
      if (hit) onSelect(hit);
    });
  }

  show(hits, q) {
    this.hits = hits;
    this.#q = q;
    keepFocus(this.element, "chunk", () => fill(this.element, hits.map((hit) => this.#draw(hit))));
  }

  add(hits) {
    this.hits = [...this.hits, ...hits];
    this.element.append(...hits.map((hit) => this.#draw(hit)));
  }

  select(hit) {
    for (const link of this.links) link.classList.toggle("selected", Number(link.dataset.chunk) === hit?.chunk_id);
  }

  get links() {
    return [...this.element.querySelectorAll("a.hit")];
  }

  /** Give the focus to the link `step` away from the one that has it; false if there is none. */
  move(step) {
    const { links } = this;
    const at = links.indexOf(document.activeElement);
    const next = links[at + step];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
    return next !== undefined;
  }

  #hitOf(target) {
    const link = target.closest?.("a.hit");
    return link && this.hits.find((hit) => hit.chunk_id === Number(link.dataset.chunk));
  }

  #draw(hit) {
    const head = el("span", { class: "hit-head" }, el("span", { class: "type" }, typeName(hit.doc_type)), el("span", { class: "hit-title" }, hit.title));
    const place = [headingWithin(hit), hit.page_num && `page ${hit.page_num}`].filter(Boolean).join(" · ");
    const foot = el(
      "span",
      { class: "hit-foot" },
      place && el("span", {}, place),
      el("span", {}, ago(hit.updated_at ?? hit.created_at)),
      hit.tags.slice(0, 4).map((tag) => el("span", { class: "chip" }, tag)),
      el("span", { class: "found-by", title: `Relevance ${Math.round(hit.relevance * 100)} of 100` }, meter(hit.relevance), foundBy(hit.scores)),
    );
    const body = [head, el("span", { class: "snippet" }, markedSnippet(withoutHeadingSigns(hit))), foot];
    return el("li", {}, el("a", { class: "hit", href: hitPlace(hit, this.#q), data: { chunk: hit.chunk_id } }, body));
  }
}

/** Where a hit is opened: its document, at its page and passage. */
export const hitPlace = (hit, q) => placeOf(`/documents/${hit.document_id}`, { chunk: hit.chunk_id, page: hit.page_num, q });

/** In one line with what follows them, the signs of Markdown's headings would only be in the way. Any other # means something. */
function withoutHeadingSigns({ heading, snippet }) {
  const headings = heading ? heading.split(" > ") : [];
  return snippet.replace(/(?<=^|\s|…)#{1,6}\s+/g, (signs, at) => {
    const rest = snippet.slice(at + signs.length).replaceAll("**", "");
    return headings.some((one) => rest.startsWith(one)) ? "" : signs;
  });
}

function foundBy({ fts, vector }) {
  if (fts !== null && vector !== null) return "words and meaning";
  return fts !== null ? "words" : "meaning";
}

function meter(relevance) {
  const bar = el("span", {});
  bar.style.width = `${Math.round(relevance * 100)}%`;
  return el("span", { class: "meter", aria: { hidden: true } }, bar);
}

export function suggestionLine(suggestion, take) {
  if (!suggestion) return null;
  const button = el("button", { class: "text-button", type: "button", on: { click: () => take(suggestion) } }, suggestion);
  return el("p", { class: "suggestion" }, icon("search"), "Did you mean ", button, "?");
}
