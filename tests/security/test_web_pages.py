"""What a web page can make a browser send: none of it gets at a program, whether it demands a key or not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest
from tests.amounts import Tell
from tests.engine_program import EngineProgram
from tests.security.surfaces import KEYS, V1, Program, both_programs, call_body, open_api
from tests.security.tricks import WEBSOCKET
from tests.security.wire import Answer, Header, Request, request_to, send_all
from tests.waiting import wait_until

EVIL = "https://evil.example"
NOTE = b'{"type": "note", "text": "Sent by a page."}'
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain")

Page = Callable[[Program], Request]


def post(*headers: Header, content_type: str = "application/json", host: str = "") -> Page:
    """A note, if the program takes it."""

    def write(to: Program) -> Request:
        path, body = (f"{V1}/jobs", NOTE) if to.name == "engine" else ("/mcp", call_body("kb_addnote", {"text": "x"}))
        return called(
            to, request_to(to.address, "POST", path, ("Content-Type", content_type), *headers, body=body), host
        )

    return write


def get(*headers: Header, host: str = "") -> Page:
    """Something that nobody else may read."""

    def write(to: Program) -> Request:
        path, accept = (f"{V1}/documents", "*/*") if to.name == "engine" else ("/mcp", "text/event-stream")
        return called(to, request_to(to.address, "GET", path, ("Accept", accept), *headers), host)

    return write


def websocket(*headers: Header, host: str = "") -> Page:
    def write(to: Program) -> Request:
        path = f"{V1}/events" if to.name == "engine" else "/mcp"
        request = request_to(to.address, "GET", path).less("Connection").plus(*WEBSOCKET, *headers)
        return called(to, request, host)

    return write


def called(to: Program, request: Request, host: str) -> Request:
    """By a name of the attacker's, which leads to this machine; the port is the program's."""
    if not host:
        return request
    port = to.address.rpartition(":")[2]
    renamed = request.less("Host")
    return replace(renamed, headers=(("Host", host.replace("PORT", port)), *renamed.headers))


def origin(value: str) -> Header:
    return ("Origin", value)


def site(value: str, mode: str = "no-cors", dest: str = "empty") -> tuple[Header, ...]:
    return (("Sec-Fetch-Site", value), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest))


PAGES: dict[str, Page] = {
    **{
        f"a form of {kind}": post(origin(EVIL), *site("cross-site", "navigate", "document"), content_type=kind)
        for kind in FORM_TYPES
    },
    **{
        f"a form of {kind} without its origin": post(*site("cross-site", "navigate", "document"), content_type=kind)
        for kind in FORM_TYPES
    },
    **{f"a form of {kind} of an old browser": post(content_type=kind) for kind in FORM_TYPES},
    "a form in a sandbox": post(origin("null"), *site("cross-site", "navigate", "iframe"), content_type="text/plain"),
    "fetch, no-cors": post(origin(EVIL), *site("cross-site"), content_type="text/plain"),
    "fetch with JSON": post(origin(EVIL), *site("cross-site", "cors")),
    "fetch of a page on a disk": post(origin("null"), *site("cross-site", "cors")),
    "fetch of a subdomain": post(origin("http://127.0.0.1.evil.example"), *site("cross-site", "cors")),
    "fetch of a user called like us": post(origin("http://127.0.0.1@evil.example"), *site("cross-site", "cors")),
    "fetch of two origins": post(origin("http://127.0.0.1"), origin(EVIL), *site("cross-site", "cors")),
    "fetch of an extension": post(origin("chrome-extension://abcdefgh"), *site("none", "cors")),
    "fetch of an extension without an origin": get(*site("none", "cors")),
    "fetch of an extension called like us": post(origin("chrome-extension://localhost"), *site("none", "cors")),
    "fetch of another port": post(origin("http://127.0.0.1:5500"), *site("same-site", "cors")),
    "fetch of another port without its site": post(origin("http://127.0.0.1:5500")),
    "fetch of another port to read": get(origin("http://localhost:3000"), *site("cross-site", "cors")),
    "fetch of another scheme": post(origin("https://127.0.0.1"), *site("cross-site", "cors")),
    "fetch of a container": post(origin("http://172.17.0.2:8080"), *site("cross-site", "cors")),
    "a form of another port": post(
        origin("http://localhost:3000"), *site("same-site", "navigate", "document"), content_type="text/plain"
    ),
    "a WebSocket of another port": websocket(origin("http://localhost:3000"), *site("same-site", "websocket")),
    "a WebSocket of an old browser": websocket(origin("http://[::1]:3000")),
    "an unknown site": get(*site("elsewhere", "cors")),
    "fetch to read": get(origin(EVIL), *site("cross-site", "cors")),
    "a beacon": post(origin(EVIL), *site("cross-site"), content_type="text/plain"),
    "a stream of events": get(origin(EVIL), *site("cross-site", "cors")),
    "a navigation": get(*site("cross-site", "navigate", "document")),
    "a navigation of a sibling": get(*site("same-site", "navigate", "document")),
    "a speculation rule": get(("Sec-Purpose", "prefetch"), *site("none", "navigate", "document")),
    "a speculation rule to draw": get(("Sec-Purpose", "prefetch;prerender"), *site("none", "navigate", "document")),
    "a frame": get(*site("cross-site", "navigate", "iframe")),
    "a picture": get(*site("cross-site", "no-cors", "image")),
    "a script": get(*site("cross-site", "no-cors", "script")),
    "a picture, in capitals": get(*site("Cross-Site", "no-cors", "image")),
    "a preflight": lambda to: replace(
        post(
            origin(EVIL),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "authorization,content-type"),
            ("Access-Control-Request-Private-Network", "true"),
        )(to),
        method="OPTIONS",
    ),
    "a WebSocket": websocket(origin(EVIL), *site("cross-site", "websocket")),
    "a WebSocket of a sandbox": websocket(origin("null"), *site("cross-site", "websocket")),
    "a WebSocket without its origin": websocket(*site("cross-site", "websocket")),
    "rebinding, to write": post(origin("http://evil.example:3000"), *site("same-origin"), host="evil.example:PORT"),
    "rebinding, to read": get(*site("same-origin", "cors"), host="evil.example:PORT"),
    "rebinding without a port": get(*site("same-origin", "cors"), host="evil.example"),
    "rebinding by an old browser": get(host="evil.example:PORT"),
    "rebinding of a name like ours": get(*site("same-origin", "cors"), host="127.0.0.1.evil.example:PORT"),
    "rebinding with a dot": get(*site("same-origin", "cors"), host="localhost.evil.example.:PORT"),
    "rebinding of a WebSocket": websocket(*site("same-origin", "websocket"), host="evil.example:PORT"),
    "rebinding with the origin of this machine": post(origin("http://127.0.0.1"), host="evil.example:PORT"),
}


@contextmanager
def unchanged(http: httpx.Client) -> Iterator[None]:
    """What is there of everything, once nothing is under way any more."""

    def is_idle() -> bool:
        queue = http.get("/status").raise_for_status().json()["queue"]
        return bool(queue["queued"] + queue["running"] == 0)

    def count() -> list[object]:
        wait_until(is_idle)
        return [http.get(f"/{name}").raise_for_status().json()["total"] for name in ("documents", "jobs", "audit")]

    before = count()
    yield
    assert count() == before


@pytest.mark.parametrize("is_open", [False, True], ids=["with the key", "open"])
@pytest.mark.parametrize("name", ["engine", "mcp"])
def test_no_page_gets_at_a_program(
    guarded: EngineProgram, running_engine: EngineProgram, tell: Tell, name: str, *, is_open: bool
) -> None:
    """E1, M2: refused, in words that no other page can read, and nothing has changed."""
    running = running_engine if is_open else guarded
    to = next(program for program in both_programs(running) if program.name == name)
    # Even if a page knew it.
    key = [] if is_open else [("Authorization", f"Bearer {to.key}")]

    with open_api(running, KEYS["KB_API_KEY"].split()[0]) as http, unchanged(http):
        answers = send_all((to.address, page(to).plus(*key).encode()) for page in PAGES.values())

    for page, one in zip(PAGES, answers, strict=True):
        assert [answer.status for answer in one if is_refusal(answer)] == [one[0].status], (page, one)
    tell(f"web pages: {len(PAGES)} kinds of requests to the {name}, {'open' if is_open else 'with the key'}: 0 let in")


def is_refusal(answer: Answer) -> bool:
    return 400 <= answer.status < 500 and b"access-control-" not in answer.head.lower()


@pytest.mark.parametrize("name", ["engine", "mcp"])
def test_the_same_requests_of_a_program_are_let_in(running_engine: EngineProgram, name: str) -> None:
    """E1, M2: it is what the browser adds that has them refused."""
    to = next(program for program in both_programs(running_engine) if program.name == name)
    own_page = post(origin(f"http://{to.address}"), *site("same-origin", "cors"))

    (posted,), (own,) = send_all((to.address, page(to).encode()) for page in (post(), own_page))

    assert posted.is_success
    # The engine has pages of its own, and the MCP server has none.
    assert own.is_success == (name == "engine")
