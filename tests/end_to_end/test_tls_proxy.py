"""kb behind nginx with TLS: the lines of docs/how-to/secure-with-tls.md, in front of real programs."""

import json
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.needs import NGINX, need_installed
from tests.servers.ports import find_free_ports
from websockets.sync.client import connect

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "secure-with-tls.md").read_text(encoding="utf-8")
NAME = "kb.example.org"
LISTENS_WITHIN_SECONDS = 10
ANSWERS_WITHIN_SECONDS = 30

# What a distribution's own nginx.conf has around the page's lines. By itself nginx waits a minute for an answer; here
# it gives up at once, so that the page's line is missed without waiting.
_AROUND = """
pid {folder}/nginx.pid;
daemon off;
master_process off;
events {{ }}
http {{
    access_log off;
    proxy_read_timeout 1ms;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/kb.conf;
}}
"""


@dataclass(frozen=True)
class Proxy:
    port: int
    plain_port: int
    certificate: Path

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def http(self, key: str, **headers: str) -> httpx.Client:
        return httpx.Client(
            base_url=f"https://127.0.0.1:{self.port}",
            headers={"Host": NAME, "Authorization": f"Bearer {key}", **headers},
            verify=self.tls,
            trust_env=False,
            timeout=ANSWERS_WITHIN_SECONDS,
        )


def block(language: str, containing: str = "") -> str:
    (found,) = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL) if containing in text]
    return str(found)


@pytest.fixture(scope="module")
def programs(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    folder = tmp_path_factory.mktemp("behind-tls")
    settings = folder / "config" / "kb"
    settings.mkdir(parents=True)
    (settings / "kb.toml").write_text(block("toml").replace("~/.config/kb", str(settings)))
    (settings / "api-key").write_text("for-programs\n")
    (settings / "mcp-api-key").write_text("for-agents\n")
    with EngineProgram(folder).running() as program:
        yield program


@pytest.fixture(scope="module")
def proxy(programs: EngineProgram, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    need_installed("nginx", is_there=NGINX is not None)
    folder = tmp_path_factory.mktemp("nginx")
    subprocess.run(["sh", "-c", block("sh", "openssl req")], cwd=folder, capture_output=True, check=True)
    port, plain_port = find_free_ports(2)
    lines = block("nginx")
    for told, here in (
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("listen 80", f"listen 127.0.0.1:{plain_port}"),
        ("/etc/ssl/kb/", f"{folder}/"),
        ("http://127.0.0.1:3000", programs.mcp_url),
        ("http://127.0.0.1:8000", programs.url),
    ):
        assert told in lines
        lines = lines.replace(told, here)
    (folder / "kb.conf").write_text(lines)
    (folder / "nginx.conf").write_text(_AROUND.format(folder=folder))
    with (folder / "nginx.log").open("wb") as log:
        started = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
        process = subprocess.Popen(started, stderr=log)
    try:
        wait_until_it_listens(port, process, folder / "nginx.log")
        yield Proxy(port, plain_port, folder / "fullchain.pem")
    finally:
        process.terminate()
        process.wait(LISTENS_WITHIN_SECONDS)


def wait_until_it_listens(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + LISTENS_WITHIN_SECONDS
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return


@pytest.fixture(scope="module")
def http(proxy: Proxy) -> Iterator[httpx.Client]:
    with proxy.http("for-programs", Origin=f"https://{NAME}") as http:
        yield http


def test_the_page_and_all_that_it_loads_come_through(http: httpx.Client) -> None:
    """W1"""
    page = http.get("/")
    loaded = [http.get(f"/{path.lstrip('/')}") for path in re.findall(r'(?:src|href)="([^":#]+)"', page.text)]

    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"]
    assert loaded
    assert all(answer.is_success for answer in loaded)


def test_an_upload_is_searchable_and_its_event_comes_at_once(http: httpx.Client) -> None:
    """E4, E8, E9"""
    with http.stream("GET", "/api/v1/events") as events:
        lines = events.iter_lines()
        job = http.post("/api/v1/jobs", files={"file": ("lighthouse.md", b"# Lighthouses\n\nFresnel made lenses.")})
        added = next(line for line in lines if line.startswith("event: document"))
    until_done(http, job.json()["id"])

    (first, *_) = http.post("/api/v1/search", json={"query": "who made lenses"}).json()["results"]

    assert (job.status_code, added) == (202, "event: document_added")
    assert first["filename"] == "lighthouse.md"


def until_done(http: httpx.Client, job_id: int) -> None:
    deadline = time.monotonic() + ANSWERS_WITHIN_SECONDS
    while http.get(f"/api/v1/jobs/{job_id}").json()["status"] != "completed":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_is_larger_than_a_proxy_lets_pass_untold_reaches_the_engine(http: httpx.Client) -> None:
    """E2, E4: the refusal is the engine's own."""
    refused = http.post("/api/v1/jobs", files={"file": ("zeros.bin", bytes(8 * 1024 * 1024))})

    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_format")


def test_an_upload_is_passed_on_while_it_is_sent(proxy: Proxy) -> None:
    """E1, E4: whoever has no key need not send all of it to hear so."""
    with (
        socket.create_connection(("127.0.0.1", proxy.port), ANSWERS_WITHIN_SECONDS) as plain,
        proxy.tls.wrap_socket(plain, server_hostname=NAME) as connection,
    ):
        connection.sendall(
            f"POST /api/v1/jobs HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: multipart/form-data; boundary=x\r\n"
            "Transfer-Encoding: chunked\r\n\r\n3\r\n--x\r\n".encode()
        )
        answer = connection.recv(100)

    assert answer.startswith(b"HTTP/1.1 401 ")


def test_browsers_are_offered_http_2_and_sent_on_from_the_port_without_tls(proxy: Proxy) -> None:
    tls = proxy.tls
    tls.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", proxy.port), ANSWERS_WITHIN_SECONDS) as plain,
        tls.wrap_socket(plain, server_hostname=NAME) as connection,
    ):
        protocol = connection.selected_alpn_protocol()
    sent_on = httpx.get(
        f"http://127.0.0.1:{proxy.plain_port}/search?q=x", headers={"Host": NAME}, trust_env=False, timeout=60
    )

    assert protocol == "h2"
    assert (sent_on.status_code, sent_on.headers["location"]) == (301, f"https://{NAME}/search?q=x")


def test_on_the_machine_itself_both_programs_are_called_as_before(programs: EngineProgram) -> None:
    """E1, M2"""
    for url, path, key in ((programs.url, "/api/v1/search", "for-programs"), (programs.mcp_url, "/mcp", "for-agents")):
        here = url.replace("127.0.0.1", "localhost").removeprefix("http://")
        headers = {"Host": here, "Authorization": f"Bearer {key}"}
        if url == programs.url:
            headers["Origin"] = f"http://{here}"

        answer = httpx.post(url + path, json={}, headers=headers, trust_env=False, timeout=ANSWERS_WITHIN_SECONDS)

        assert answer.status_code in (400, 422), answer.text


def test_a_tool_is_called_through_the_proxy_and_over_a_websocket(proxy: Proxy) -> None:
    """M1, M2, M4"""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "kb_status", "arguments": {}}}

    with proxy.http("for-agents") as agents:
        by_post = agents.post("/mcp", json=call).json()
        of_one_toolset = agents.post("/mcp/kb", json=call).json()
    by_websocket = call_over_websocket(proxy, call)

    for answer in (by_post, of_one_toolset, by_websocket):
        assert answer["result"]["structuredContent"]["version"] == "3.0.0"


def call_over_websocket(proxy: Proxy, call: dict[str, Any]) -> Any:  # Any: JSON
    with connect(
        f"wss://{NAME}/mcp",
        sock=socket.create_connection(("127.0.0.1", proxy.port)),
        ssl=proxy.tls,
        additional_headers={"Authorization": "Bearer for-agents"},
        proxy=None,
    ) as websocket:
        websocket.send(json.dumps(call))
        return json.loads(websocket.recv(ANSWERS_WITHIN_SECONDS))


@pytest.mark.parametrize(
    ("path", "key", "statuses"),
    [("/api/v1/search", "for-programs", [403, 403, 401]), ("/mcp", "for-agents", [421, 403, 401])],
)
def test_another_name_another_origin_and_another_key_are_refused(
    proxy: Proxy, path: str, key: str, statuses: list[int]
) -> None:
    """E1, M2"""
    with proxy.http(key) as http:
        another_name = http.post(path, headers={"Host": "kb.example.com"}, json={})
        another_origin = http.post(path, headers={"Origin": "https://kb.example.com"}, json={})
        another_key = http.post(path, headers={"Authorization": "Bearer another"}, json={})

    assert [answer.status_code for answer in (another_name, another_origin, another_key)] == statuses
    assert "Host is not allowed" in another_name.text
    assert "KB_ALLOWED_ORIGINS" in another_origin.text.replace("KB_MCP_", "KB_")


def ambiguous_requests(behind: bytes) -> list[bytes]:
    """Requests with an ambiguous end: read in one way `behind` is a request, read in the other it is part of a body."""
    head = f"POST /api/v1/search HTTP/1.1\r\nHost: {NAME}\r\nAuthorization: Bearer for-programs\r\n".encode()
    end = b"0\r\n\r\n"
    whole, chunked = b"Content-Length: %d\r\n" % (len(end) + len(behind)), b"Transfer-Encoding: chunked\r\n"
    lines = [
        chunked + whole,
        whole + chunked,
        whole + b"Transfer-Encoding: xchunked\r\n",
        whole + b"Transfer-Encoding : chunked\r\n",
        whole + b"Transfer-Encoding: identity, chunked\r\n",
        whole + b"Transfer-Encoding:\x0bchunked\r\n",
        whole + b"X: y\nTransfer-Encoding: chunked\r\n",
        whole + b"X: y\r\n Transfer-Encoding: chunked\r\n",
        whole + b"Content-Length: 5\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 5,5\r\n",
        b"Content-Length: 0x5\r\n",
    ]
    return [head + line + b"\r\n" + end + behind for line in lines]


def test_no_request_hides_in_the_body_of_another(proxy: Proxy, http: httpx.Client) -> None:
    """E1, E4: proxy and engine agree where each request ends."""
    note = b'{"type":"note","text":"smuggled"}'
    hidden = (
        f"POST /api/v1/jobs HTTP/1.1\r\nHost: {NAME}\r\nAuthorization: Bearer for-programs\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(note)}\r\n\r\n"
    ).encode() + note
    before = http.get("/api/v1/jobs").json()["total"]

    for sent in ambiguous_requests(hidden):
        with (
            socket.create_connection(("127.0.0.1", proxy.port), ANSWERS_WITHIN_SECONDS) as plain,
            proxy.tls.wrap_socket(plain, server_hostname=NAME) as connection,
        ):
            connection.sendall(sent)
            assert connection.recv(9) == b"HTTP/1.1 "
        assert http.get("/api/v1/status").is_success

    assert http.get("/api/v1/jobs").json()["total"] == before
