// How to connect an AI client: what to copy, where it goes, and how to see that it works.

import { copyText } from "../../kit/copying.js";
import { el, fill, keepFocus } from "../../kit/dom.js";
import { icon } from "../../kit/icons.js";
import { tellProblem } from "../../kit/notices.js";
import { adjust, currentPlace, placeOf } from "../../kit/router.js";
import { isAddress, likelyAddress, listClients, tellClient, tellKb } from "./clients.js";

export const title = "Connect";

const QUESTION = "Call kb_status and tell me how many documents my knowledge base has.";

export function show(root, place) {
  return new ConnectView(root, place);
}

class ConnectView {
  #address = el("input", { id: "mcp-address", class: "input", type: "url", autocomplete: "off", spellcheck: "false", aria: { describedby: "mcp-address-hint" } });
  #hasKey = el("input", { id: "mcp-key", type: "checkbox" });
  #problem = el("p", { class: "bad-text small", role: "alert" });
  #tabs = el("nav", { class: "chips client-tabs", aria: { label: "Clients" } });
  #client = el("div", {});

  constructor(root, place) {
    this.#address.addEventListener("input", () => this.#change());
    this.#hasKey.addEventListener("change", () => this.#change());
    root.append(
      el("div", { class: "view-head" }, el("h1", {}, "Connect an agent")),
      el("p", { class: "lead" }, "Your AI client can search, read and write here by itself, once it knows kb’s MCP server. Choose the client, copy what it must be told, and start it again."),
      el(
        "section",
        { class: "card facts" },
        el("div", { class: "field" }, el("label", { for: "mcp-address" }, "Address of the MCP server"), this.#address, this.#problem,
          el("p", { id: "mcp-address-hint", class: "hint" }, "kb up starts it together with the engine and prints its address. As your client reaches it, which may run elsewhere.")),
        el("label", { class: "check", for: "mcp-key" }, this.#hasKey, "It has a key (KB_MCP_API_KEY is set where it runs)"),
      ),
      this.#tabs,
      this.#client,
    );
    this.update(place);
  }

  async update({ params }) {
    const address = params.get("url") ?? likelyAddress();
    // What somebody is typing is never replaced under them.
    if (document.activeElement !== this.#address) this.#address.value = address;
    this.#hasKey.checked = params.get("key") === "1";
    this.#problem.textContent = isAddress(address) ? "" : "It begins with http:// or https:// and holds no spaces, quotes or user; http://127.0.0.1:3000/mcp for example.";
    try {
      const clients = await listClients();
      const client = clients.find(({ name }) => name === params.get("client")) ?? clients[0];
      const wishes = { address, hasKey: this.#hasKey.checked };
      keepFocus(this.#tabs, "client", () => fill(this.#tabs, clients.map((other) => this.#tab(other, other === client))));
      fill(this.#client, isAddress(address) && describe(client, wishes));
    } catch (error) {
      tellProblem(error);
    }
  }

  #tab({ name, title: label }, isCurrent) {
    const { params } = currentPlace();
    const href = placeOf("/connect", { ...Object.fromEntries(params), client: name });
    return el("a", { class: isCurrent ? "chip on" : "chip", href, data: { client: name }, aria: { current: isCurrent ? "true" : undefined } }, label);
  }

  #change() {
    const address = this.#address.value.trim();
    adjust("/connect", {
      client: currentPlace().params.get("client"),
      url: address === likelyAddress() ? "" : address,
      key: this.#hasKey.checked ? "1" : "",
    });
  }
}

function describe(client, wishes) {
  const steps = [
    client.is_command ? "Run this in a terminal" : "Put this into its file, beside what is there",
    "Or let kb do it",
    `See that it works`,
  ];
  return el(
    "section",
    { class: "card facts", aria: { label: client.title } },
    el("h2", {}, client.title),
    el("h3", {}, steps[0]),
    copied(tellClient(client, wishes), client.is_command ? "Copy the command" : "Copy the configuration"),
    wishes.hasKey && el("p", {}, client.about_key),
    !client.is_command && files(client.files),
    el("h3", {}, steps[1]),
    copied(tellKb(client, wishes), "Copy the command of kb"),
    el("p", { class: "hint" }, "It changes only its own entry, and keeps a copy of the old file."),
    el("h3", {}, steps[2]),
    el("p", {}, `Start ${client.title} again, and ask it:`),
    copied(QUESTION, "Copy the question"),
  );
}

function copied(text, label) {
  const copy = () => copyText(text, "Copied.");
  return el(
    "div",
    { class: "copied" },
    // It may be wider than the page, and then has to be scrolled by keyboard too.
    el("pre", { tabindex: "0", aria: { label: label.replace("Copy the ", "The ") } }, el("code", {}, text)),
    el("button", { class: "button", type: "button", aria: { label }, on: { click: copy } }, icon("copy"), "Copy"),
  );
}

function files(places) {
  const rows = Object.entries(places).flatMap(([system, path]) => [el("dt", {}, system), el("dd", {}, el("code", {}, path))]);
  return el("dl", {}, rows);
}
