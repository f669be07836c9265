// Which view shows which place. The first is loaded by itself, to be there soon.

const VIEWS = [
  { pattern: /^\/$/, name: "search", load: () => import("./views/search/search.js") },
  { pattern: /^\/documents$/, name: "documents", load: () => import("./views/documents/list.js") },
  { pattern: /^\/documents\/[^/]+$/, name: "documents/one", load: () => import("./views/documents/document.js") },
  { pattern: /^\/notes\/new$/, name: "notes/new", load: () => import("./views/notes/editor.js") },
  { pattern: /^\/notes\/[^/]+\/edit$/, name: "notes/edit", load: () => import("./views/notes/editor.js") },
  { pattern: /^\/notes\/[^/]+\/history$/, name: "notes/history", load: () => import("./views/notes/history.js") },
  { pattern: /^\/map$/, name: "map", load: () => import("./views/map/map.js") },
  { pattern: /^\/jobs$/, name: "jobs", load: () => import("./views/jobs/jobs.js") },
  { pattern: /^\/status$/, name: "status", load: () => import("./views/status/status.js") },
  { pattern: /^\/connect$/, name: "connect", load: () => import("./views/connect/connect.js") },
];

const NOWHERE = { name: "nowhere", load: () => import("./views/nowhere.js") };

export function findView({ path }) {
  return VIEWS.find(({ pattern }) => pattern.test(path)) ?? NOWHERE;
}

/** So that none has to be fetched when the engine is away. */
export function loadAllViews() {
  for (const { load } of [...VIEWS, NOWHERE]) load().catch(() => {});
}
