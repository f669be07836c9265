"""E30: in a real browser a page of another origin tries to reach an open kb in every possible way."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Frame, Page, Playwright, Worker, sync_playwright
from tests.browser.chromium import FLAGS, find_chromium, find_chromium_with_extensions
from tests.browser.filling import add_note
from tests.browser.watching import ANSWER_WITHIN_MS
from tests.engine_program import EngineProgram
from tests.security.surfaces import open_api
from tests.waiting import wait_until

STORED_TEXT = "Quokkas of the secret text graze on Rottnest."
EVIL = "evil.example"
# The attacker's name resolves to this machine, as after DNS rebinding.
RESOLVED = f"--host-resolver-rules=MAP {EVIL} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
# Chromium asks the user before a page may reach this machine. Here the answer is yes: kb must refuse, not the browser.
ALLOWED = "--disable-features=LocalNetworkAccessChecks"

# Each way returns what the page could read. A beacon returns nothing, but could write.
ATTACK = """
async ({engine, agents}) => {
  const file = () => {
    const form = new FormData();
    form.append("file", new Blob(["Planted by a page."], {type: "text/plain"}), "planted.txt");
    return form;
  };
  const call = (id, name, args) =>
    JSON.stringify({jsonrpc: "2.0", id, method: "tools/call", params: {name, arguments: args}});
  const read = async (address, options) => (await fetch(address, options)).text();
  const note = JSON.stringify({type: "note", text: "Planted by a page."});
  const asJson = {method: "POST", headers: {"Content-Type": "application/json"}};
  const ways = {
    "read": () => read(`${engine}/api/v1/documents`),
    "read without CORS": () => read(`${engine}/api/v1/documents`, {mode: "no-cors"}),
    "search": () => read(`${engine}/api/v1/search`, {...asJson, body: '{"query": "quokkas"}'}),
    "write": () => read(`${engine}/api/v1/jobs`, {...asJson, body: note}),
    "write without CORS": () => read(`${engine}/api/v1/jobs`, {method: "POST", mode: "no-cors", body: file()}),
    "write as text": () => read(`${engine}/api/v1/jobs`, {method: "POST", mode: "no-cors", body: note}),
    "call a tool": () => read(`${agents}/mcp`, {...asJson, body: call(1, "kb_search", {query: "quokkas"})}),
    "call a tool as text": () =>
      read(`${agents}/mcp`, {method: "POST", mode: "no-cors", body: call(1, "kb_addnote", {text: "Planted."})}),
    "send a beacon": async () => String(navigator.sendBeacon(`${engine}/api/v1/jobs`, file()) && ""),
    "hear events": () => new Promise((resolve, reject) => {
      const events = new EventSource(`${engine}/api/v1/events`);
      events.onopen = () => resolve("The page hears Quokkas.");
      events.onerror = () => { events.close(); reject(new Error("refused")); };
    }),
    "open a WebSocket": () => new Promise((resolve, reject) => {
      const socket = new WebSocket(`${agents.replace("http", "ws")}/mcp`, "mcp");
      socket.onopen = () => {
        socket.send(call(1, "kb_addnote", {text: "Planted by a WebSocket."}));
        socket.send(call(2, "kb_search", {query: "quokkas"}));
      };
      socket.onmessage = ({data}) => { if (data.includes('"id":2')) resolve(data); };
      socket.onerror = () => reject(new Error("refused"));
    }),
  };
  const seen = {};
  for (const [name, way] of Object.entries(ways)) {
    if (name === "send a beacon" && typeof document === "undefined") continue;
    seen[name] = await way().catch((error) => `refused: ${error.message}`);
  }
  return seen;
}
"""
FORM = """
(engine) => {
  const form = document.body.appendChild(document.createElement("form"));
  Object.assign(form, {method: "POST", enctype: "multipart/form-data", action: `${engine}/api/v1/jobs`});
  const field = form.appendChild(document.createElement("input"));
  Object.assign(field, {type: "file", name: "file"});
  const files = new DataTransfer();
  files.items.add(new File(["Planted by a form."], "planted.txt"));
  field.files = files.files;
  form.submit();
}
"""
EXTENSION = {
    "manifest_version": 3,
    "name": "Another page",
    "version": "1",
    "background": {"service_worker": "worker.js"},
}


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def other_page(playwright: Playwright) -> Iterator[Page]:
    browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*FLAGS[:-1], RESOLVED, ALLOWED])
    page = browser.new_page()
    page.set_default_timeout(ANSWER_WITHIN_MS)
    yield page
    browser.close()


@contextmanager
def unreachable(engine: EngineProgram) -> Iterator[dict[str, Any]]:
    """The `with` block puts what a page saw into the dictionary. It must see nothing of kb, and write nothing."""
    add_note(engine, STORED_TEXT, "A secret", [])
    seen: dict[str, Any] = {}
    with open_api(engine, "any") as http:

        def count() -> list[int]:
            return [http.get(f"/{name}").raise_for_status().json()["total"] for name in ("documents", "jobs", "audit")]

        def is_idle() -> bool:
            queue = http.get("/status").raise_for_status().json()["queue"]
            return bool(queue["queued"] + queue["running"] == 0)

        wait_until(is_idle)
        before = count()
        yield seen
        wait_until(is_idle)
        assert count() == before
    assert len(seen) >= 10, seen
    assert "Quokkas" not in json.dumps(seen), seen


def attack(sender: Page | Frame | Worker, engine: EngineProgram, name: str = "127.0.0.1") -> dict[str, Any]:
    addresses = {"engine": engine.url.replace("127.0.0.1", name), "agents": engine.mcp_url.replace("127.0.0.1", name)}
    seen = dict(sender.evaluate(ATTACK, addresses))
    if isinstance(sender, Page):
        # After a form is sent, its answer replaces the page.
        with sender.expect_response(f"{addresses['engine']}/api/v1/jobs") as answer:
            sender.evaluate(FORM, addresses["engine"])
        seen["send a form"] = sender.content() if answer.value.ok else "refused"
    return seen


def show(page: Page, address: str, html: str = "<!doctype html><body>Another page") -> None:
    """Show a page under this address, even if there is no server."""
    page.route(address, lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(address)


@pytest.mark.parametrize(
    "address",
    ["http://localhost:5500/", "http://127.0.0.1:5500/", "http://172.17.0.2:8080/", "http://evil.example:3000/"],
    ids=["another port", "another port of the address", "a container", "another host"],
)
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_page_of_another_origin_reaches_nothing(
    other_page: Page, shared_engine: EngineProgram, address: str, name: str
) -> None:
    with unreachable(shared_engine) as seen:
        show(other_page, address)
        seen |= attack(other_page, shared_engine, name)


@pytest.mark.parametrize("program", ["engine", "agents"])
def test_page_of_a_rebound_name_reaches_nothing(other_page: Page, shared_engine: EngineProgram, program: str) -> None:
    """The page has the same origin as the address that it calls, as after DNS rebinding."""
    url = shared_engine.url if program == "engine" else shared_engine.mcp_url
    with unreachable(shared_engine) as seen:
        show(other_page, f"{url.replace('127.0.0.1', EVIL)}/another")
        seen |= attack(other_page, shared_engine, EVIL)


def test_page_in_a_sandbox_reaches_nothing(other_page: Page, shared_engine: EngineProgram) -> None:
    with unreachable(shared_engine) as seen:
        show(other_page, "http://localhost:5501/", '<iframe sandbox="allow-scripts allow-forms" srcdoc="x"></iframe>')
        seen |= attack(other_page.frames[1], shared_engine)


def test_page_on_a_disk_reaches_nothing(other_page: Page, shared_engine: EngineProgram, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<!doctype html><body>Another page")
    with unreachable(shared_engine) as seen:
        other_page.goto(file.as_uri())
        seen |= attack(other_page, shared_engine)


@pytest.mark.parametrize("rights", [[], ["http://127.0.0.1/*"]], ids=["without rights", "with rights to the address"])
def test_extension_reaches_nothing(
    playwright: Playwright, shared_engine: EngineProgram, tmp_path: Path, rights: list[str]
) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({**EXTENSION, "host_permissions": rights}))
    (tmp_path / "worker.js").write_text("self.isAnotherPage = true;")
    context = playwright.chromium.launch_persistent_context(
        tmp_path / "profile",
        executable_path=find_chromium_with_extensions(),
        args=[
            *FLAGS,
            ALLOWED,
            "--headless=new",
            f"--disable-extensions-except={tmp_path}",
            f"--load-extension={tmp_path}",
        ],
        ignore_default_args=["--disable-extensions"],
        headless=False,
    )
    with unreachable(shared_engine) as seen:
        worker = context.service_workers[0] if context.service_workers else context.wait_for_event("serviceworker")
        seen |= attack(worker, shared_engine)
    context.close()
