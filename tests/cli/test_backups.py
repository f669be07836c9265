"""`kb backup` and `kb restore`, as a person or a script calls them (C1, C2, C3, C5)."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import httpx
import pytest
from tests.bases import make_backup, make_base
from tests.cli.conftest import Kb
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineAlone, EngineProgram, own_environment

from kb.engine.storage.sqlite.integrity import check_base

NOTES = 20
FILES = 5
THINGS = ("otter", "basalt column", "night train", "sourdough", "spare key", "tax return", "violin", "greenhouse")
DEEDS = ("sleeps beside", "was found under", "is older than", "reminds us of", "costs more than", "leans against")
QUESTIONS = [f"what {deed} the {thing}?" for deed in DEEDS for thing in THINGS] + ["number 7", "entry twenty"]


def sentence(number: int) -> str:
    one, other = THINGS[number % len(THINGS)], THINGS[(3 * number + 1) % len(THINGS)]
    return f"Entry {number}: the {one} {DEEDS[number % len(DEEDS)]} the {other}. It has number {number}."


@contextmanager
def client_of(program: EngineProgram) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{program.url}/api/v1", trust_env=False, timeout=30) as http:
        yield http


def add_note(http: httpx.Client, text: str) -> int:
    job: int = http.post("/jobs", json={"type": "note", "text": text}).raise_for_status().json()["id"]
    return job


def wait_until_idle(http: httpx.Client) -> None:
    deadline = time.monotonic() + 60
    while any(http.get("/status").json()["queue"][state] for state in ("queued", "running")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def read_hashes(http: httpx.Client) -> dict[int, str]:
    listed = http.get("/documents", params={"limit": 1000}).json()
    assert listed["total"] == len(listed["documents"])
    return {document["id"]: document["content_hash"] for document in listed["documents"]}


def find(http: httpx.Client, question: str) -> list[tuple[int, str]]:
    hits = http.post("/search", json={"query": question, "top": 20}).raise_for_status().json()["results"]
    return [(hit["document_id"], hit["snippet"]) for hit in hits]


@contextmanager
def running(program: EngineProgram) -> Iterator[httpx.Client]:
    with program.running(), client_of(program) as http:
        yield http


def fill(http: httpx.Client) -> None:
    for number in range(NOTES):
        add_note(http, sentence(number))
    for number in range(NOTES, NOTES + FILES):
        http.post("/jobs", files={"file": (f"{number}.txt", sentence(number).encode())}).raise_for_status()
    wait_until_idle(http)


def test_a_backup_made_while_writing_brings_back_every_document_and_finds_the_same(
    model_folder: Path, tmp_path: Path
) -> None:
    """C1: each document as of the backup, and 50 searches with the same hits in the same order."""
    done = threading.Event()
    written: list[int] = []

    def go_on_writing(http: httpx.Client) -> None:
        while not done.is_set():
            written.append(add_note(http, sentence(1000 + len(written))))
            wait_until_idle(http)

    (tmp_path / "lived").mkdir()
    program, again = EngineAlone(tmp_path / "lived"), EngineAlone(tmp_path)
    with running(program) as lived, ThreadPoolExecutor() as threads:
        fill(lived)
        before = read_hashes(lived)
        writing = threads.submit(go_on_writing, lived)
        backed_up = program.run_kb("backup", str(tmp_path / "backup"))
        done.set()
        writing.result()
        after = read_hashes(lived)
        restored = program.run_kb("restore", str(tmp_path / "backup"), "--data-dir", str(again.data_dir))
        with running(again) as http:
            wait_until_idle(http)
            hashes = read_hashes(http)
            for later in after.keys() - hashes.keys():
                lived.delete(f"/documents/{later}").raise_for_status()
            answers = [(find(lived, question), find(http, question)) for question in QUESTIONS]

    assert (backed_up.returncode, backed_up.stderr) == (0, "")
    assert (restored.returncode, restored.stderr) == (0, "")
    assert len(before) == NOTES + FILES
    assert written
    assert before.items() <= hashes.items() <= after.items()
    assert len(answers) == 50
    assert all(first == second and first for first, second in answers)
    originals = list(again.data_dir.glob("originals/??/*"))
    assert len(originals) == FILES
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in originals)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A data directory that no engine runs on; beside it a backup of it, named `first`."""
    make_base(tmp_path / "data", "walrus")
    make_backup(tmp_path, "first")
    return tmp_path / "data"


def test_a_backup_tells_in_one_line_what_it_is(kb: Kb, base: Path, tmp_path: Path) -> None:
    """C2"""
    told = kb("backup", str(tmp_path / "told"), "--data-dir", str(base))
    as_json = kb("backup", str(tmp_path / "json"), "--data-dir", str(base), "--json")

    manifest = json.loads(as_json.stdout)
    assert told.stdout.startswith("Backed up 26 documents and 6 originals (")
    assert len(told.stdout.splitlines()) == 1
    assert manifest == json.loads((tmp_path / "json" / "manifest.json").read_text())
    assert (told.stderr, as_json.stderr) == ("", "")


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_what_is_printed_as_json_is_said_to_be_the_manifest(kb: Kb, command: str) -> None:
    told = kb(command, "--help").stdout

    assert "manifest" in told
    assert "engine's JSON" not in told


def test_a_backup_that_cannot_be_made_is_refused_and_says_why(kb: Kb, base: Path, tmp_path: Path) -> None:
    """C3"""
    (tmp_path / "taken").write_text("something else")

    taken = kb("backup", str(tmp_path / "taken"), "--data-dir", str(base))
    missing = kb("backup", str(tmp_path / "new"), "--data-dir", str(tmp_path / "nowhere"))

    assert (taken.exit_code, missing.exit_code) == (4, 3)
    assert "already" in taken.stderr
    assert "no base" in missing.stderr
    assert not (tmp_path / "nowhere").exists()


def test_a_backup_of_a_damaged_base_needs_consent_and_still_is_exit_code_1(kb: Kb, base: Path, tmp_path: Path) -> None:
    next(base.glob("originals/??/*")).write_text("not what it was")

    refused = kb("backup", str(tmp_path / "backup"), "--data-dir", str(base))
    allowed = kb("backup", str(tmp_path / "backup"), "--data-dir", str(base), "--allow-damage")

    assert (refused.exit_code, allowed.exit_code) == (1, 1)
    assert "--allow-damage" in refused.stderr
    assert "original of document" in allowed.stderr
    assert allowed.stdout.startswith("Backed up")
    assert kb("restore", str(tmp_path / "backup"), "--data-dir", str(tmp_path / "again")).exit_code == 0


def test_ctrl_c_ends_a_backup_and_leaves_nothing_behind(base: Path, tmp_path: Path) -> None:
    """C3"""
    original = next(base.glob("originals/??/*"))
    # It takes no room here, and seconds to copy.
    os.truncate(original, 2**33)
    command = ("backup", str(tmp_path / "backup"), "--data-dir", str(base))

    with OnTerminal(*command, environment=own_environment(tmp_path)) as terminal:
        terminal.wait_for("Copying originals")
        terminal.interrupt()
        exit_code = terminal.wait()

    assert exit_code == 130
    assert "Stopped. Nothing was changed." in terminal.output
    assert list(tmp_path.glob("backup*")) == []


def test_a_restore_is_refused_over_a_running_engine(kb: Kb, base: Path, running_engine: EngineProgram) -> None:
    """C1"""
    result = kb("restore", str(base.parent / "first"), "--data-dir", str(running_engine.data_dir), "--yes")

    assert result.exit_code == 4
    assert "engine" in result.stderr
    assert kb("status").exit_code == 0


def test_a_restore_over_a_base_asks_and_without_a_terminal_refuses(kb: Kb, base: Path) -> None:
    """C5"""
    with closing(apsw.Connection(str(base / "kb.sqlite"))) as db:
        db.execute("DELETE FROM audit_log")

    refused = kb("restore", str(base.parent / "first"), "--data-dir", str(base))
    meant = kb("restore", str(base.parent / "first"), "--data-dir", str(base), "--yes")

    assert (refused.exit_code, meant.exit_code) == (4, 0)
    assert refused.stderr.startswith("This replaces everything")
    assert "--yes" in refused.stderr
    assert meant.stdout.startswith("Restored")
    assert check_base(base / "kb.sqlite") == []


def test_only_a_complete_backup_is_restored(kb: Kb, base: Path, tmp_path: Path) -> None:
    (base.parent / "first" / "manifest.json").unlink()

    incomplete = kb("restore", str(base.parent / "first"), "--data-dir", str(tmp_path / "x"))
    missing = kb("restore", str(tmp_path / "nowhere"), "--data-dir", str(tmp_path / "x"))

    assert (incomplete.exit_code, missing.exit_code) == (3, 3)
    assert "no complete backup" in incomplete.stderr
    assert not (tmp_path / "x").exists()
