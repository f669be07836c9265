"""`kb sync` and a person who has waited long enough, an engine that is lost, and answers that are."""

import asyncio
import json
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.engine_program import EngineProgram, kb_command, own_environment

from kb.cli import patience
from kb.cli.exits import Exit
from kb.cli.render.progress import Board
from kb.cli.syncing.carrying import Carrier, Result
from kb.cli.syncing.looking import look_at
from kb.cli.syncing.memory import Memory, place_of_memory
from kb.cli.syncing.planning import Delete, FolderContent, Plan, Rename
from kb.cli.syncing.synced_documents import read_synced_documents
from kb.client import EngineClient

WITHIN_SECONDS = 30
READ, UNREADABLE, SLOW = range(3)


class ThreeFiles:
    """An engine's answers: of three files it reads the first, cannot read the second, and never ends the third."""

    def __init__(self, folder: Path) -> None:
        for name in ("a.txt", "b.bin", "c.txt"):
            (folder / name).write_text(f"{name} in its place", encoding="utf-8")
        self.is_lost = False
        self.has_worked = threading.Event()
        self._looks = 0

    def answer(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        resource = path.partition("?")[0].removeprefix("/api/v1/")
        if method == "POST":
            return self._take(int(headers["Idempotency-Key"].rpartition("-")[2]))
        if resource.startswith("jobs/"):
            return self._look_at(int(resource.removeprefix("jobs/")))
        if resource == "status":
            return 200, {"version": "3.0.0", "configuration": {"max_file_size_mb": 1}}
        return 200, {"documents": [], "total": 0}

    def _take(self, place: int) -> Answer:
        if place == UNREADABLE:
            return 415, {"code": "unsupported_format", "detail": "No."}
        return 202, self._job(place, "queued")

    def _look_at(self, place: int) -> Answer:
        if place == READ:
            return 200, self._job(place, "completed")
        self._looks += 1
        if self._looks > 2:
            self.has_worked.set()
            if self.is_lost:
                return None
        return 200, self._job(place, "running")

    def _job(self, place: int, status: str) -> dict[str, object]:
        progress = {"progress": 0.5, "message": "", "current_step": "", "error": None}
        return {"id": place, "status": status, "document_id": 7, **progress}


def remembered(tmp_path: Path, folder: Path, url: str) -> dict[str, Any]:  # Any: JSON
    return dict(json.loads(place_of_memory(tmp_path / "kb", str(folder), url).read_bytes()))


def test_c3_ctrl_c_tells_what_was_done_and_what_the_engine_still_works_on(folder: Path, tmp_path: Path) -> None:
    files = ThreeFiles(folder)

    with scripted_engine(files.answer) as url:
        environment = own_environment(tmp_path, {"KB_ENGINE_URL": url, "XDG_CACHE_HOME": str(tmp_path)})
        with subprocess.Popen(
            kb_command("sync", str(folder)),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            # It is told as soon as it is known, long before the end.
            assert process.stdout.readline() == "+ a.txt\n"
            assert files.has_worked.wait(WITHIN_SECONDS)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=WITHIN_SECONDS)

    stopped, totals, left = errors.splitlines()
    assert (process.returncode, stopped) == (130, "Stopped.")
    assert totals.startswith("1 added, 1 skipped (unsupported: 1) in ")
    assert left.startswith("The engine still works on 1 file: `kb jobs` shows it")
    assert remembered(tmp_path, folder, url)["refusals"].keys() == {str(folder / "b.bin")}


def test_c3_a_lost_engine_ends_with_6_and_what_was_done_is_told(
    kb: Kb, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "COME_BACK_WITHIN_SECONDS", 0.0)
    files = ThreeFiles(folder)
    files.is_lost = True

    with scripted_engine(files.answer) as url:
        result = kb("sync", str(folder), "--json", XDG_CACHE_HOME=str(tmp_path), KB_ENGINE_URL=url)

    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 6
    assert {line["path"]: line["action"] for line in lines} == {
        str(folder / "a.txt"): "add",
        str(folder / "b.bin"): "skip",
    }
    assert "1 added, 1 skipped (unsupported: 1) in " in result.stderr
    assert "The engine still works on 1 file" in result.stderr
    assert remembered(tmp_path, folder, url)["refusals"].keys() == {str(folder / "b.bin")}


def test_c3_what_nobody_does_any_more_is_counted(kb: Kb, folder: Path, tmp_path: Path) -> None:
    files = ThreeFiles(folder)

    def refuse(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        return (401, {"code": "unauthorized", "detail": "No."}) if method == "POST" else files.answer(method, path, {})

    with scripted_engine(refuse) as url:
        result = kb("sync", str(folder), XDG_CACHE_HOME=str(tmp_path), KB_ENGINE_URL=url)

    assert result.exit_code == 5
    assert result.stderr.endswith("Left undone: 3 steps. The same command again goes on from here.\n")


class LosesAnswers(EngineClient):
    """The first answer to each change is lost on its way, after the engine has made the change."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._lost: set[str] = set()

    async def update_document(self, *arguments: Any, **more: Any) -> dict[str, Any]:  # Any: as they are
        return self._lose("rename", await super().update_document(*arguments, **more))

    async def delete_document(self, *arguments: Any, **more: Any) -> dict[str, Any]:  # Any: as they are
        return self._lose("delete", await super().delete_document(*arguments, **more))

    def _lose(self, call: str, answer: dict[str, Any]) -> dict[str, Any]:
        if call not in self._lost:
            self._lost.add(call)
            raise httpx.ReadError("The connection was lost.")
        return answer


def carry_out_changes(
    url: str, folder: Path, *, client: type[EngineClient], tag: str | None = None
) -> tuple[list[Result], set[str]]:
    """Rename the first document to `new.txt` and delete the second, both tagged since they were read if need be."""
    results: list[Result] = []

    def tell(board: Board, result: Result) -> None:
        results.append(result)

    async def work() -> set[str]:
        async with client(url) as engine:
            first, second = (await read_synced_documents(engine, str(folder))).documents
            (folder / "b.txt").unlink()
            look = look_at(folder, max_bytes=1_000)
            if tag is not None:
                await engine.add_tags(first.id, [tag])
                await engine.add_tags(second.id, [tag])
            plan = Plan(renames=[Rename(str(folder / "new.txt"), first)], deletes=[Delete(second)])
            memory = Memory(folder / "memory")
            await Carrier(engine, look, FolderContent({}), memory=memory, tags=[], tell=tell).carry_out(plan)
            return {document.source_path for document in (await read_synced_documents(engine, str(folder))).documents}

    return results, asyncio.run(work())


@pytest.fixture
def followed(kb: Kb, folder: Path, tmp_path: Path) -> Path:
    (folder / "a.txt").write_text(f"the sexton's shovel in {tmp_path}", encoding="utf-8")
    (folder / "b.txt").write_text(f"the sexton's lantern in {tmp_path}", encoding="utf-8")
    assert kb("sync", str(folder), XDG_CACHE_HOME=str(tmp_path)).exit_code == 0
    return folder


def test_a_change_whose_answer_was_lost_is_known_to_be_done(
    running_engine: EngineProgram, followed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "LOOK_AGAIN_AFTER_SECONDS", 0.01)

    results, paths = carry_out_changes(running_engine.url, followed, client=LosesAnswers)

    assert [(result.exit, result.error) for result in results] == [(Exit.DONE, None), (Exit.DONE, None)]
    assert paths == {str(followed / "new.txt")}


def test_c5_what_somebody_has_changed_since_is_neither_renamed_nor_deleted(
    running_engine: EngineProgram, followed: Path
) -> None:
    results, paths = carry_out_changes(running_engine.url, followed, client=EngineClient, tag="precious")

    assert [(result.exit, result.is_outdated) for result in results] == [(Exit.REFUSED, True), (Exit.REFUSED, True)]
    assert all(result.error for result in results)
    assert paths == {str(followed / "a.txt"), str(followed / "b.txt")}
