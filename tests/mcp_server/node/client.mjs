// The TypeScript SDK's client, led from outside: client.mjs <url> [<key>]
//
// Each line of input is one step, [method, ...arguments] in JSON; each line of output is what came of it, either
// {"answer": ...} or {"thrown": ...}. An address that begins with ws is spoken to over a WebSocket.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

// The packages lie elsewhere (NODE_PATH), where `import` does not look.
const require = createRequire(import.meta.url);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { WebSocketClientTransport } = require("@modelcontextprotocol/sdk/client/websocket.js");
const { ResultSchema } = require("@modelcontextprotocol/sdk/types.js");

const [address, key] = process.argv.slice(2);
const url = new URL(address);
const headers = key ? { Authorization: `Bearer ${key}` } : {};
const transport = url.protocol.startsWith("ws")
  ? new WebSocketClientTransport(url)
  : new StreamableHTTPClientTransport(url, { requestInit: { headers } });
const client = new Client({ name: "kb-tests", version: "1.0.0" });

let underWay;

const steps = {
  connect: () => client.connect(transport),
  sessionId: () => transport.sessionId,
  listTools: () => client.listTools(),
  callTool: (params) => client.callTool(params),
  // The SDK forgets who waits for progress as soon as the answer is there, and with it what came in the same packet as
  // the answer; so what was told is heard where it arrives, and the SDK only has to ask for it.
  callToolForProgress: async (params) => {
    const told = [];
    const take = transport.onmessage;
    transport.onmessage = (message, extra) => {
      if (message.method === "notifications/progress") {
        const { progressToken, ...progress } = message.params;
        told.push(progress);
      }
      take(message, extra);
    };
    const result = await client.callTool(params, undefined, { onprogress: () => {} });
    transport.onmessage = take;
    return { result, told };
  },
  beginCall: (params) => {
    const aborting = new AbortController();
    underWay = { aborting, result: client.callTool(params, undefined, { signal: aborting.signal }) };
    // It may fail before anybody asks what became of it.
    underWay.result.catch(() => {});
  },
  abortCall: () => {
    underWay.aborting.abort();
    return underWay.result;
  },
  endCall: () => underWay.result,
  request: (method, params) => client.request({ method, params }, ResultSchema),
};

async function take(step, ...given) {
  try {
    return { answer: (await steps[step](...given)) ?? null };
  } catch (error) {
    return { thrown: { code: error.code, message: error.message, data: error.data } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await take(...JSON.parse(line))));
}
process.exit();
