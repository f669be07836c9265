// What each AI client is to be told. The words are those of `kb connect`: clients.json is made from them.

import { readShippedJson } from "../../kit/shipped.js";

let clients = null;

export async function listClients() {
  clients ??= (await readShippedJson("clients.json")).clients;
  return clients;
}

/** Where the MCP server probably is: beside the engine that serves this page. */
export function likelyAddress({ protocol, hostname } = location) {
  return `${protocol}//${hostname}:3000/mcp`;
}

/** An address as clients take it: complete, and with nobody's name in it. */
export function isAddress(address) {
  return /^https?:\/\/[!-~]+$/.test(address) && !/['"\\@]/.test(address) && URL.canParse(address);
}

/** What is to be copied. */
export function tellClient({ told, is_command: isCommand }, { address, hasKey }) {
  const scheme = address.startsWith("https:") ? "https" : "http";
  const shown = isCommand ? quoted(address) : address;
  return told[scheme][hasKey ? "keyed" : "open"].replaceAll(`${scheme}://ADDRESS`, () => shown);
}

/** The command that puts it into the client's own file. */
export function tellKb({ name }, { address }) {
  return `kb connect ${name} --url ${quoted(address)} --write`;
}

/** As a shell wants it; there is no quote in an address. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`);
