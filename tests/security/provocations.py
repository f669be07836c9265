"""Everything that goes wrong where a secret is near: in a request, in a file, in a setting, in a process that dies."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from tests.amounts import amount
from tests.engine_program import EngineProgram
from tests.security.speaking import WAYS, open_speech
from tests.security.surfaces import EVERY_KEY, KEYS, V1, Program, as_basic, both_programs, call_body, open_api
from tests.security.wire import request_to, send_all
from tests.waiting import wait_for_job, wait_until

HIDDEN_TEXT = "zyzzyva-of-the-hidden-text"
HIDDEN_NAME = "zyzzyva-of-the-hidden-name"
UPGRADE = (
    *(("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")),
    ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
)
KEY, AGENTS_KEY = KEYS["KB_API_KEY"].split()[0], KEYS["KB_MCP_API_KEY"].split()[0]


@dataclass
class Told:
    """What somebody was told in answer, and what could be seen of the processes meanwhile."""

    answers: list[str] = field(default_factory=list)
    commands: set[str] = field(default_factory=set)
    environments: dict[str, str] = field(default_factory=dict)
    """Of the engine's children, by their commands."""


def provoke_everything(program: EngineProgram) -> Told:
    """Ends with a data directory that is damaged."""
    told = Told()
    _send_secrets(program, told)
    with open_api(program, KEY) as http:
        _watch_a_file_being_read(program, http, told)
        _add_a_damaged_file(http)
        _kill_worker(program, http)
        told.answers += [http.get(path).text for path in ("/metrics", "/status", "/audit", "/jobs")]
        _break_originals(program, http, told)
    _speak_secrets(program, told)
    return told


def _send_secrets(program: EngineProgram, told: Told) -> None:
    """To both programs: as themselves, nearly right, and where no secret belongs."""
    asked = [(to.address, key, one) for to in both_programs(program) for key in EVERY_KEY for one in misplaced(to, key)]
    for (_, key, _), answers in zip(asked, send_all((address, one) for address, _, one in asked), strict=True):
        for answer in answers:
            text = (answer.head + b"\n" + answer.body).decode("latin-1")
            # To name what a client has sent itself, where no key belongs, tells it nothing.
            told.answers.append(re.sub(re.escape(key), "", text, flags=re.IGNORECASE))
            assert as_basic(key) not in text
    nearly = [(to.address, key) for to in both_programs(program) for key in EVERY_KEY]
    wrong = [
        (address, request_to(address, "GET", f"{V1}/status", ("Authorization", f"Bearer {key}x")).encode())
        for address, key in nearly
    ]
    told.answers += [answer.body.decode("latin-1") for answers in send_all(wrong) for answer in answers]


def misplaced(to: Program, key: str) -> Iterator[bytes]:
    """Requests with a key in a place where no key belongs; most of them are accepted."""
    path = f"{V1}/search" if to.name == "engine" else "/mcp"
    typed, right = ("Content-Type", "application/json"), ("Authorization", f"Bearer {to.key}")
    for method, target, headers, body in (
        ("GET", f"/{key}?token={key}", (), b""),
        ("GET", f"{V1}/{key}?token={key}", (), b""),
        ("GET", f"{V1}/status?{key}={key}", (), b""),
        ("GET", f"{V1}/documents/{key}", (), b""),
        ("POST", path, (typed,), f'{{"{key}": '.encode()),
        ("POST", path, (typed,), json.dumps({"query": [key], key: key}).encode()),
        ("POST", path, (typed,), call_body(key, {key: key})),
        ("POST", path, (("Content-Type", key),), key.encode()),
        (key, path, ((key, key),), b""),
        ("GET", path, (("Origin", f"http://{key}"),), b""),
        ("GET", path, (("Cookie", key), ("Mcp-Session-Id", key), ("Mcp-Protocol-Version", key)), b""),
    ):
        yield request_to(to.address, method, target, right, *headers, body=body).encode()
    yield request_to(key, "GET", path, right).encode()
    for offered in (
        (("Authorization", f"Basic {as_basic(key)}"),),
        (("Authorization", f"Digest {key}"),),
        (("Authorization", key),),
        (("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer {key}")),
        (("X-API-Key", key), ("Proxy-Authorization", f"Bearer {key}"), ("User-Agent", key), ("Referer", key)),
        (right, ("X-Request-ID", key), ("Idempotency-Key", key), ("If-Match", key), ("Last-Event-ID", key)),
        (*UPGRADE, ("Sec-WebSocket-Protocol", key)),
        (*UPGRADE, ("Sec-WebSocket-Protocol", f"mcp, bearer.{key}x, {key}")),
        (*UPGRADE, right, ("Sec-WebSocket-Extensions", key)),
    ):
        yield request_to(to.address, "GET", path, *offered).encode()
    yield request_to(to.address, "GET", f"http://kb:{key}@{to.address}{path}", right).encode()


def _speak_secrets(program: EngineProgram, told: Told) -> None:
    for way in WAYS:
        with open_speech(program.mcp_url, AGENTS_KEY, way) as speak:
            for method in ("tools/call", "resources/read", "tools/cancel", "prompts/get", KEY):
                speak(method, {"name": KEY, "uri": KEY, "taskId": KEY, "arguments": {KEY: AGENTS_KEY}})
            told.answers.append(json.dumps(speak("tools/call", {"name": "kb_status", "arguments": {}})))


def _watch_a_file_being_read(program: EngineProgram, http: httpx.Client, told: Told) -> None:
    page = f"<html><body><p>{HIDDEN_TEXT}</p></body></html>"
    job = http.post("/jobs", files={"file": (f"{HIDDEN_NAME}.html", page)}).raise_for_status().json()

    def is_finished() -> bool:
        _look_at_processes(program.process.pid, told)
        return bool(http.get(f"/jobs/{job['id']}").json()["status"] == "completed")

    wait_until(is_finished)


def _add_a_damaged_file(http: httpx.Client) -> None:
    """A parser quotes in its error what it does not understand."""
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg"><text>x</{HIDDEN_TEXT}></svg>'
    job = http.post("/jobs", files={"file": ("drawing.svg", drawing)}).raise_for_status().json()
    assert wait_for_job(http, job["id"])["error"]["code"] == "corrupt_file"


def _kill_worker(program: EngineProgram, http: httpx.Client) -> None:
    """It has something to do just then; another one does it."""
    job = http.post("/jobs", json={"type": "note", "text": f"{HIDDEN_TEXT} once more", "title": HIDDEN_NAME}).json()
    (worker,) = [pid for pid in descendants(program.process.pid) if "worker" in command_of(pid)]
    os.kill(worker, signal.SIGKILL)
    assert wait_for_job(http, job["id"])["status"] == "completed"


def _break_originals(program: EngineProgram, http: httpx.Client, told: Told) -> None:
    originals = program.data_dir / "originals"
    shutil.rmtree(originals)
    originals.touch()
    failed = http.post("/jobs", files={"file": (f"{HIDDEN_NAME}.txt", HIDDEN_TEXT)}, headers={"Cookie": KEY})
    assert failed.status_code >= 500
    told.answers.append(failed.text)


def _look_at_processes(parent: int, told: Told) -> None:
    told.commands.add(command_of(parent))
    for pid in descendants(parent):
        command, environment = command_of(pid), _read(Path(f"/proc/{pid}/environ"))
        told.commands.add(command)
        told.environments[command] = environment or told.environments.get(command, "")


def descendants(parent: int) -> Iterator[int]:
    """Whichever thread of it has started them."""
    children = [child for task in Path(f"/proc/{parent}/task").glob("*/children") for child in _read(task).split()]
    for child in map(int, children):
        yield child
        yield from descendants(child)


def command_of(pid: int) -> str:
    return _read(Path(f"/proc/{pid}/cmdline")).replace("\0", " ")


def _read(path: Path) -> str:
    """Empty if the process has ended meanwhile."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def complain_of_settings(program: EngineProgram, folder: Path) -> Iterator[str]:
    """What `kb` says of secrets that it cannot use, or is asked to show."""
    damaged = folder / "kb" / "kb.toml"
    damaged.parent.mkdir(parents=True)
    damaged.write_text(f'api_key = "{KEY}', encoding="utf-8")
    key_file = folder / "key"
    key_file.write_bytes(KEY.encode() + b"\xff")
    complaints: list[tuple[str, dict[str, str]]] = [
        ("status", {"KB_API_KEY": f"{KEY} {KEY}"}),
        ("status", {"KB_API_KEY": f"{KEY}\u00e9"}),
        ("status", {"KB_API_KEY": f"{KEY}x"}),
        ("status", {"KB_ENGINE_URL": f"http://kb:{KEY}@127.0.0.1:9"}),
        ("engine", {"KB_API_KEY_READONLY": KEY}),
        ("status", {"KB_API_KEY": "", "KB_API_KEY_FILE": str(key_file)}),
        ("config", {"KB_ENGINE_URL": f"http://{KEY}:{KEY}@127.0.0.1:9"}),
        ("status", {"KB_API_KEY": "", "XDG_CONFIG_HOME": str(folder)}),
        ("config", {}),
        ("doctor", {}),
    ]
    for command, settings in complaints[:: amount(selection=3, full=1)]:
        ended = program.run_kb(command, settings=settings)
        assert ended.returncode != 0 or command in ("config", "doctor"), (command, settings)
        yield ended.stdout + ended.stderr
