// Which documents are listed, and in which order: read from the address, sent to the engine.

/** [what the engine calls it, what people do, the direction that they mean by it]. */
export const ORDERS = [
  ["recent", "Last changed", "desc"],
  ["date_added", "Date added", "desc"],
  ["title", "Title", "asc"],
  ["filename", "File name", "asc"],
  ["size", "Size", "desc"],
];

export const usualDirection = (sort) => ORDERS.find(([name]) => name === sort)[2];

/** {q, tags, type, sort, order} of a place. */
export function readCriteria(params) {
  const sort = ORDERS.some(([name]) => name === params.get("sort")) ? params.get("sort") : "recent";
  const order = ["asc", "desc"].includes(params.get("order")) ? params.get("order") : usualDirection(sort);
  return { q: params.get("q") ?? "", tags: params.getAll("tag"), type: params.get("type") ?? "", sort, order };
}

/** The same as parameters of a place, which leave out what is usual. */
export function criteriaParams({ q, tags, type, sort, order }) {
  return { q, tag: tags, type, sort: sort === "recent" ? "" : sort, order: order === usualDirection(sort) ? "" : order };
}

/** The query of GET /documents. */
export function listQuery({ q, tags, type, sort, order }) {
  return { q: q.trim(), tag: tags, doc_type: type, sort, order };
}

export const hasFilters = ({ q, tags, type }) => Boolean(q.trim() || tags.length || type);
