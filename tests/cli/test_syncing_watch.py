"""`kb sync --watch`, with an engine of its own that is stopped and started."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, kb_command, own_environment

from kb.cli.syncing.following import Follower, Wishes

FOLLOWS_WITHIN_SECONDS = 60


@pytest.fixture(scope="module")
def own_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    program = EngineProgram(tmp_path_factory.mktemp("watched"))
    program.start()
    yield program
    program.stop()


def names_in(engine: EngineProgram, folder: Path) -> dict[str, str]:
    """The hash of each document of the folder."""
    with httpx.Client(base_url=engine.url, trust_env=False) as http:
        answer = http.get("/api/v1/documents", params={"source_folder": str(folder)}).raise_for_status().json()
    return {document["filename"]: document["content_hash"] for document in answer["documents"]}


def wait_until_there_are(engine: EngineProgram, folder: Path, *names: str) -> dict[str, str]:
    deadline = time.monotonic() + FOLLOWS_WITHIN_SECONDS
    while (found := names_in(engine, folder)).keys() != set(names):
        assert time.monotonic() < deadline, f"There are {sorted(found)}, not {sorted(names)}."
        time.sleep(0.1)
    return found


def test_c1_a_watched_folder_is_followed_through_restarts_and_absence(
    own_engine: EngineProgram, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "first.txt").write_text("the first watch", encoding="utf-8")
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": own_engine.url, "XDG_CACHE_HOME": str(tmp_path)})

    with OnTerminal("sync", str(folder), "--watch", environment=environment) as screen:
        screen.wait_for("Ctrl-C ends it.")
        before = names_in(own_engine, folder)

        own_engine.stop()
        (folder / "second.txt").write_text("the second watch", encoding="utf-8")
        screen.wait_for("There is no engine at")
        own_engine.start()
        screen.wait_for("The engine is back.")
        wait_until_there_are(own_engine, folder, "first.txt", "second.txt")

        folder.rename(tmp_path / "unmounted")
        screen.wait_for("nothing is deleted")
        (tmp_path / "unmounted" / "first.txt").rename(tmp_path / "unmounted" / "moved.txt")
        (tmp_path / "unmounted").rename(folder)
        screen.wait_for("The folder is back.")
        after = wait_until_there_are(own_engine, folder, "moved.txt", "second.txt")

        (folder / "second.txt").unlink()
        (folder / "whole.txt").write_text("written at once", encoding="utf-8")
        with (folder / "growing.txt").open("a", encoding="utf-8") as growing:
            while "whole.txt" not in (found := names_in(own_engine, folder)):
                print("and another line", file=growing, flush=True)
                time.sleep(0.05)
        assert "growing.txt" not in found
        wait_until_there_are(own_engine, folder, "moved.txt", "whole.txt", "growing.txt")
        screen.wait_for(" growing.txt\r\n")
        screen.interrupt()
        code = screen.wait()

    assert code == 0
    assert after["moved.txt"] == before["first.txt"]
    assert "4 added, 1 renamed, 1 deleted" in screen.output
    assert screen.output.count("There is no engine at") == 1
    assert "Traceback" not in screen.output


def test_what_has_not_settled_is_left_alone_and_a_folder_that_dwindles_too(
    own_engine: EngineProgram, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dwindling"
    folder.mkdir()
    names = [f"{number}.txt" for number in range(14)]
    for name in names:
        (folder / name).write_text(f"{name} is here", encoding="utf-8")
    wishes = Wishes(
        own_engine.url, [], yes=True, dry_run=False, allow_empty=False, retry=False, verbose=False, as_json=False
    )
    follower = Follower(folder, tmp_path / "memory", wishes)
    follower.begin()

    (folder / "half.txt").write_text("half of", encoding="utf-8")
    for name in names[:12]:
        (folder / name).unlink()
    follower.go_on(follower.look(), {str(folder / "half.txt"), str(folder / names[0])})
    dwindling = names_in(own_engine, folder)
    follower.go_on(follower.look(), set())

    assert dwindling.keys() == {*names}
    assert names_in(own_engine, folder).keys() == {*names[12:], "half.txt"}


def test_a_watch_in_the_background_ends_plainly_when_it_is_told_to(own_engine: EngineProgram, tmp_path: Path) -> None:
    folder = tmp_path / "service"
    folder.mkdir()
    (folder / "only.txt").write_text("standing orders", encoding="utf-8")
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": own_engine.url, "XDG_CACHE_HOME": str(tmp_path)})
    command = kb_command("sync", str(folder), "--watch", "--yes")

    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Watching ")
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=FOLLOWS_WITHIN_SECONDS)

    assert process.returncode == 0
    assert output == "+ only.txt\n"
    assert errors.startswith("1 added in ")
