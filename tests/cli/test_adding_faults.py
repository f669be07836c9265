"""`kb add` and an engine that is full, slow, away or gone, and a person who has waited long enough."""

import io
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Kb, Pretend
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, kb_command, own_environment
from tests.waiting import wait_until

from kb.cli import patience
from kb.cli.adding import submitting
from kb.cli.main import app
from kb.cli.watching_jobs import rest_after

LOST = None
"""Instead of an answer the connection ends."""
Answer = tuple[int, dict[str, object]] | None
ACCEPTED: Answer = (202, {})


class ScriptedEngine:
    """Takes files as an engine does, but `answer_to` decides what it says to each upload.

    It is given how many there were, and the place of the file among all.

    A job is `status` until that is changed.
    """

    def __init__(self) -> None:
        self.answer_to: Callable[[int, int], Answer] = lambda upload, place: ACCEPTED
        self.status = "running"
        self.forms: list[bytes] = []
        self.keys: Counter[str] = Counter()
        self.looks: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}
        engine = self

        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = "kb/3.0.0", ""

            def do_GET(self) -> None:
                self.say(200, engine.look_at(self.path))

            def do_POST(self) -> None:
                engine.forms.append(self.rfile.read(int(self.headers["Content-Length"])))
                answer = engine.take(self.headers["Idempotency-Key"] or "note-0")
                if answer is not None:
                    self.say(*answer)

            def say(self, status: int, answer: dict[str, object]) -> None:
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                """Who is interrupted does not wait for the answer."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, key: str) -> Answer:
        with self._lock:
            self.keys[key] += 1
            self._ids.setdefault(key, len(self._ids) + 1)
            upload = self.keys.total()
        answer = self.answer_to(upload, int(key.rpartition("-")[2]))
        return (202, self.job(self._ids[key])) if answer == ACCEPTED else answer

    def look_at(self, path: str) -> dict[str, object]:
        kind, _, job_id = path.partition("?")[0].removeprefix("/api/v1/").partition("/")
        if kind != "jobs":
            return {}
        with self._lock:
            self.looks["one" if job_id else "list"] += 1
        return self.job(int(job_id)) if job_id else {"jobs": [self.job(one) for one in self._ids.values()]}

    def job(self, job_id: int) -> dict[str, object]:
        progress = {"progress": 0.5, "message": "Processing page 5 of 10", "current_step": "", "error": None}
        result = {"document_id": job_id, "duplicate": False, "replaced": False, "chunks_created": 1}
        return {"id": job_id, "status": self.status, **progress, **result}


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    engine = ScriptedEngine()
    yield engine
    engine.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.txt").write_text(f"{tmp_path} number {number} is about a bittern.")
    return folder


def problem(status: int, code: str) -> Answer:
    return status, {"code": code, "detail": "No."}


def test_an_upload_whose_answer_was_lost_is_repeated_under_its_own_key(
    kb: Kb, engine: ScriptedEngine, folder: Path
) -> None:
    engine.status = "completed"
    engine.answer_to = lambda upload, place: LOST if upload == 3 else ACCEPTED

    result = kb("add", str(folder), KB_ENGINE_URL=engine.url)

    assert result.exit_code == 0
    assert result.stderr.count("Waiting for it to come back") == 1
    assert sorted(engine.keys.values()) == [1, 1, 1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize(("status", "told"), [(429, "queue is full"), (503, "Waiting for it to come back")])
def test_an_engine_that_has_no_time_now_is_asked_again_and_that_is_told_once(
    kb: Kb, engine: ScriptedEngine, folder: Path, status: int, told: str
) -> None:
    """E4"""
    engine.status = "completed"
    engine.answer_to = lambda upload, place: problem(status, "busy") if upload <= 6 else ACCEPTED

    result = kb("add", str(folder), KB_ENGINE_URL=engine.url)

    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 8
    assert result.stderr.count(told) == 1


@pytest.mark.parametrize(("answer", "code"), [(LOST, 6), (problem(503, "unavailable"), 1)])
def test_an_engine_that_stays_away_is_given_up_and_it_is_told_how_far_it_came(
    kb: Kb, engine: ScriptedEngine, folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, code: int
) -> None:
    """C3"""
    monkeypatch.setattr(patience, "COME_BACK_WITHIN_SECONDS", 0.1)
    (folder / "8.txt").write_text("A ninth file.")
    engine.status = "completed"

    def accept_five(upload: int, place: int) -> Answer:
        if place < 5:
            return ACCEPTED
        # Until each of the four that are sent at once has heard what became of those before.
        wait_until(lambda: engine.keys.total() >= 9)
        return answer

    engine.answer_to = accept_five

    result = kb("add", str(folder), KB_ENGINE_URL=engine.url)

    assert result.exit_code == code
    assert len(result.stdout.splitlines()) == 5
    assert re.search(r"5 added in \d+\.\d s", result.stderr)
    assert "4 files were not sent" in result.stderr


def test_of_an_engine_that_is_not_there_at_all_one_sentence_is_enough(kb: Kb, folder: Path) -> None:
    """C3"""
    result = kb("add", str(folder), KB_ENGINE_URL="http://127.0.0.1:1")

    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (6, "", 1)


def test_what_the_engine_would_say_of_every_file_ends_the_command(kb: Kb, engine: ScriptedEngine, folder: Path) -> None:
    """C3"""
    engine.status = "completed"

    def accept_four(upload: int, place: int) -> Answer:
        if upload <= 4:
            return ACCEPTED
        # Until each of the four that are sent at once has heard what became of the one before.
        wait_until(lambda: engine.keys.total() >= 8)
        return problem(401, "unauthorized")

    engine.answer_to = accept_four

    result = kb("add", str(folder), KB_ENGINE_URL=engine.url)

    assert result.exit_code == 5
    assert result.stderr.count("KB_API_KEY") == 2  # The key and the file of it, in one sentence.
    assert "4 files were not sent" in result.stderr


def test_many_jobs_are_looked_at_together(kb: Kb, engine: ScriptedEngine, folder: Path) -> None:
    def finish_when_looked_at_twice() -> None:
        while engine.looks["list"] < 2 and engine.looks["one"] <= 4:
            time.sleep(0.01)
        engine.status = "completed"

    watching = threading.Thread(target=finish_when_looked_at_twice)
    watching.start()

    result = kb("add", str(folder), KB_ENGINE_URL=engine.url)

    watching.join()
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 8)
    assert engine.looks["list"] > 1
    assert engine.looks["one"] <= 4


def test_no_more_files_are_under_way_than_one_list_tells_of(
    kb: Kb, engine: ScriptedEngine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitting, "MOST_UNDER_WAY", 3)
    sent_before = []

    def finish_when_looked_at_often() -> None:
        while engine.looks["one"] < 12:
            time.sleep(0.01)
        sent_before.append(engine.keys.total())
        engine.status = "completed"

    watching = threading.Thread(target=finish_when_looked_at_often)
    watching.start()
    result = kb("add", str(folder), KB_ENGINE_URL=engine.url)
    watching.join()

    assert (result.exit_code, len(result.stdout.splitlines()), sent_before) == (0, 8, [3])


def test_ctrl_c_stops_the_sending_and_tells_what_goes_on(tmp_path: Path, engine: ScriptedEngine, folder: Path) -> None:
    """C3: the exit code is that of other programs."""
    never = threading.Event()

    def accept_three(upload: int, place: int) -> Answer:
        if place >= 3:
            never.wait(60)
        return ACCEPTED

    engine.answer_to = accept_three
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": engine.url})
    with OnTerminal("add", str(folder), environment=environment, columns=80) as terminal:
        for name in ("0.txt", "1.txt", "2.txt"):
            terminal.wait_for(f"{name}: Processing page 5 of 10")
        terminal.interrupt()
        code = terminal.wait()
        never.set()

    assert code == 130
    assert "Stopped." in terminal.output
    assert "still works on 3 files" in terminal.output
    assert "5 files were not sent" in terminal.output
    assert "Traceback" not in terminal.output


def test_ctrl_c_ends_any_command_that_waits_for_an_answer(tmp_path: Path, engine: ScriptedEngine) -> None:
    never, asked = threading.Event(), threading.Event()

    def wait(upload: int, place: int) -> Answer:
        asked.set()
        never.wait(60)
        return LOST

    engine.answer_to = wait
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": engine.url})
    with OnTerminal("addnote", "Never mind", environment=environment) as terminal:
        assert asked.wait(60)
        terminal.interrupt()
        code = terminal.wait()
        never.set()

    assert (code, "Stopped." in terminal.output, "Traceback" in terminal.output) == (130, True, False)


def test_an_engine_that_is_started_anew_meanwhile_gets_every_file_once(
    kb: Kb, running_engine: EngineProgram, tmp_path: Path, folder: Path
) -> None:
    """E24"""
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})
    command = kb_command("add", str(folder))
    with httpx.Client(base_url=f"{running_engine.url}/api/v1", trust_env=False, timeout=60) as http:
        before = http.get("/jobs").json()["total"]
        adding = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: http.get("/jobs").json()["total"] > before, "a file has arrived")

    running_engine.restart()
    told, remarks = adding.communicate(timeout=60)

    assert (adding.returncode, len(told.splitlines())) == (0, 8), remarks
    assert "8 unchanged" in kb("add", str(folder)).stderr


@given(st.floats(0, 1_000), st.floats(0.02, 0.5))
def test_looking_takes_a_tenth_of_the_time_but_who_has_waited_long_does_not_look_the_more_seldom(
    looked: float, pause: float
) -> None:
    rest = rest_after(looked, pause)

    assert pause <= rest <= 2
    assert rest == 2 or looked <= rest / 10 + 1e-9


@pytest.mark.parametrize(
    ("status", "code", "advice"),
    [(429, "too_many_requests", "kb jobs"), (503, "unavailable", "kb status"), (507, "storage_full", "kb delete")],
)
def test_an_engine_that_cannot_now_is_told_with_a_way_out(
    kb: Kb, pretend: Pretend, status: int, code: str, advice: str
) -> None:
    """C3"""
    url = pretend(status, json.dumps({"code": code, "detail": "Not now."}).encode())

    result = kb("status", KB_ENGINE_URL=url)

    assert (result.exit_code, result.stdout) == (1, "")
    assert "Not now." in result.stderr
    assert advice in result.stderr


def test_who_meets_an_engine_that_is_too_old_is_told_how_to_update_it(kb: Kb, pretend: Pretend) -> None:
    """E26"""
    url = pretend(200, b'{"version": "2.11.4"}')

    result = kb("add", __file__, KB_ENGINE_URL=url)

    assert result.exit_code == 4
    assert all(told in result.stderr for told in ("2.11.4", "3.0.0 or newer", "kb up", "docker compose up"))


@pytest.mark.parametrize("command", [["add", "{folder}"], ["add", "{folder}", "--json"], ["jobs"], ["jobs", "--json"]])
def test_a_reader_that_goes_away_ends_the_command_quietly(
    running_engine: EngineProgram, tmp_path: Path, folder: Path, command: list[str]
) -> None:
    """C2: as in `kb add FOLDER | head -1`."""
    read, write = os.pipe()
    os.close(read)
    # Not as a developer may have set it: what is printed is usually kept back until there is much of it.
    buffered = {"PYTHONUNBUFFERED": ""}
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url, **buffered})
    words = kb_command(*(word.format(folder=folder) for word in command))
    with os.fdopen(write, "w") as gone:
        adding = subprocess.run(words, env=environment, stdout=gone, stderr=subprocess.PIPE, text=True, check=False)

    assert adding.returncode in {0, 1}
    assert all(told not in adding.stderr for told in ("Traceback", "Broken", "ignored"))


class Interrupted(io.RawIOBase):
    """What is read when somebody presses Ctrl-C."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        raise KeyboardInterrupt


@pytest.mark.parametrize("command", [["add", "-"], ["addnote", "-"], ["updatenote", "7", "-"]])
def test_ctrl_c_before_the_engine_is_called_is_told_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    """C3"""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))  # type: ignore[type-var]  # It is read only.

    with pytest.raises(SystemExit) as ended:
        app(command, prog_name="kb")

    assert (ended.value.code, *capsys.readouterr()) == (130, "", "Stopped.\n")


@pytest.mark.parametrize(("options", "told"), [(["--ocr"], b"true"), ([], b"false")])
def test_i3_the_engine_is_asked_to_recognise_the_text_of_every_page(
    kb: Kb, engine: ScriptedEngine, folder: Path, options: list[str], told: bytes
) -> None:
    engine.status = "completed"

    kb("add", str(folder / "0.txt"), *options, KB_ENGINE_URL=engine.url)

    (form,) = engine.forms
    assert re.search(rb'name="force_ocr"\s+' + told, form)
