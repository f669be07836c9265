// What is searched for: read from the address, sent to the engine.

/** {q, tags, type, from, to} of a place. */
export function readCriteria(params) {
  return {
    q: params.get("q") ?? "",
    tags: params.getAll("tag"),
    type: params.get("type") ?? "",
    from: params.get("from") ?? "",
    to: params.get("to") ?? "",
  };
}

/** The same as parameters of a place. */
export function criteriaParams({ q, tags, type, from, to }) {
  return { q, tag: tags, type, from, to };
}

export const hasFilters = ({ tags, type, from, to }) => Boolean(tags.length || type || from || to);

export const isBlank = ({ q }) => q.trim() === "";

/** The body of POST /search. */
export function searchBody({ q, tags, type, from, to }, { mode, top, offset = 0 }) {
  const filters = {};
  if (type) filters.doc_type = type;
  if (from || to) filters.date_range = { start: from || null, end: to || null };
  return { query: q, mode, top, offset, tags, filters, group_by: "document", complete_last_word: true };
}
