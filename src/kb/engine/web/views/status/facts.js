// What the engine tells of itself, as cards of facts.

import { el } from "../../kit/dom.js";
import { placeOf } from "../../kit/router.js";
import { ago, at, bytes, BYTES_PER_MB, count, typeName } from "../../kit/wording.js";

const INDEXES = { exact: "Every vector is compared: exact", none: "None yet" };

/** [title, [[name, value], …]] of each card. */
export function cardsOf(status) {
  return [
    ["What is in it", contents(status)],
    ["Search", searching(status)],
    ["Work", work(status)],
    ["Where it is", places(status)],
  ];
}

export function card(title, facts) {
  const rows = facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return el("section", { class: "card facts" }, el("h2", {}, title), el("dl", {}, rows));
}

function contents({ documents, chunks, size_bytes: size, last_updated: changed }) {
  const types = Object.entries(documents.by_type).sort((one, other) => other[1] - one[1]);
  const links = types.map(([type, number]) => el("a", { class: "chip", href: placeOf("/documents", { type }) }, typeName(type), el("span", { class: "soft" }, number)));
  return [
    ["Documents", documents.total.toLocaleString()],
    links.length > 0 && ["Of which", el("div", { class: "chips" }, links)],
    ["Chunks", chunks.toLocaleString()],
    ["Size", bytes(size)],
    ["Last change", changed ? el("span", { title: at(changed) }, ago(changed)) : "None yet"],
  ].filter(Boolean);
}

function searching({ model, device, vectors, vector_index: index, configuration }) {
  return [
    ["Model", `${model.name}${model.loaded ? "" : ", still loading"}`],
    ["Runs on", device],
    ["Vectors", `${vectors.toLocaleString()} of ${count(model.dimension, "number")} each`],
    ["Index", INDEXES[index.kind] ?? index.kind],
    index.recall_at_10 !== null && ["Finds", `${Math.round(index.recall_at_10 * 1000) / 10} % of the ten nearest`],
    ["Length of a chunk", `up to ${count(configuration.chunk_size, "token")}; the model reads ${model.window}`],
  ].filter(Boolean);
}

function work({ queue, configuration }) {
  const link = (status, number) => el("a", { href: placeOf("/jobs", { status }) }, number.toLocaleString());
  return [
    ["Running", link("running", queue.running)],
    ["Queued", link("queued", queue.queued)],
    ["Failed", link("failed", queue.failed)],
    ["Largest file", bytes(configuration.max_file_size_mb * BYTES_PER_MB)],
  ];
}

function places({ version, schema_version: schema, storage, access }) {
  return [
    ["Version", `kb ${version}`],
    ["Database", `${storage.database}, schema ${schema}`],
    ["Data", el("code", {}, storage.data_dir)],
    ["Originals", el("code", {}, storage.originals)],
    ["Your key", access === "write" ? "can read and write" : "can only read"],
  ];
}
