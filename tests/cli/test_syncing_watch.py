"""`kb sync --watch`, with an engine of its own that is stopped and started.

Most tests call for each look themselves instead of waiting for it.
"""

import asyncio
import shutil
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.synced_folder import documents_of, write
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineAlone, EngineProgram, kb_command, own_environment

from kb.cli.syncing.following import COMPARE_ALL_AFTER_SECONDS, Follower, SyncOptions
from kb.cli.syncing.watching import Watch
from kb.client import EngineClient

FOLLOWS_WITHIN_SECONDS = 60


@pytest.fixture(scope="module")
def own_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    with EngineAlone(tmp_path_factory.mktemp("watched")).running() as program:
        yield program


def names_in(engine: EngineProgram, folder: Path) -> dict[str, str]:
    """The hash of each document of the folder."""
    return {document["filename"]: document["content_hash"] for document in documents_of(engine, folder).values()}


def follow(engine: EngineProgram, folder: Path) -> Follower:
    options = SyncOptions(
        engine_url=engine.url,
        tags=[],
        yes=True,
        dry_run=False,
        allow_empty=False,
        delete_ignored=False,
        retry=False,
        verbose=False,
        as_json=False,
    )
    return Follower(folder, folder.with_name("memory"), options)


def watch(engine: EngineProgram, folder: Path) -> Watch:
    """It has made its first pass, and looks again when it is told to."""
    follower = follow(engine, folder)
    return Watch(follower, engine.url, follower.begin())


def look_twice(watch: Watch) -> None:
    """Then what has changed is seen to have settled."""
    watch.look_again()
    watch.look_again()


def change_base(engine: EngineProgram, change: Callable[[EngineClient], Awaitable[object]]) -> None:
    async def work() -> None:
        async with EngineClient(engine.url) as client:
            await change(client)

    asyncio.run(work())


def test_c1_a_watched_folder_is_followed_through_restarts_and_absence(
    own_engine: EngineProgram, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"first.txt": "the first watch"})
    watching = watch(own_engine, folder)
    before = names_in(own_engine, folder)

    own_engine.stop()
    write(folder, {"second.txt": "the second watch"})
    look_twice(watching)
    watching.look_again()
    own_engine.start()
    watching.look_again()
    restarted = capsys.readouterr()
    folder.rename(tmp_path / "unmounted")
    look_twice(watching)
    (tmp_path / "unmounted" / "first.txt").rename(tmp_path / "unmounted" / "moved.txt")
    (tmp_path / "unmounted").rename(folder)
    look_twice(watching)
    remounted = capsys.readouterr()

    assert restarted.out == "+ first.txt\n+ second.txt\n"
    # Of an absence that lasts it tells once.
    assert restarted.err.splitlines() == [
        f"There is no engine at {own_engine.url} now. Waiting for it.",
        "The engine is back.",
    ]
    assert remounted.out == "> first.txt -> moved.txt\n"
    assert remounted.err.splitlines()[1:] == ["The folder is back."]
    assert remounted.err.startswith(f"{folder} cannot be listed: ")
    assert names_in(own_engine, folder)["moved.txt"] == before["first.txt"]


def test_a_file_that_grows_is_sent_when_it_has_stopped_growing(
    own_engine: EngineProgram, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watching = watch(own_engine, folder)

    write(folder, {"whole.txt": "written at once", "growing.txt": "a line"})
    watching.look_again()
    write(folder, {"growing.txt": "a line and another line"})
    watching.look_again()
    early = capsys.readouterr().out
    watching.look_again()

    assert early == "+ whole.txt\n"
    assert capsys.readouterr().out == "+ growing.txt\n"


def test_a_disk_that_leaves_only_hidden_files_behind_is_waited_for(
    own_engine: EngineProgram, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"a.txt": "on a disk"})
    watching = watch(own_engine, folder)

    folder.rename(tmp_path / "disk")
    folder.mkdir()
    write(folder, {".DS_Store": "icons"})
    for _ in range(3):
        watching.look_again()

    assert capsys.readouterr().err == (
        f"There is no file to send in {folder} (hidden: 1) all at once: perhaps a disk was taken away. "
        "Waiting; nothing is deleted.\n"
    )
    assert names_in(own_engine, folder).keys() == {"a.txt"}


def test_another_folder_in_the_place_of_the_watched_one_is_not_followed(
    own_engine: EngineProgram, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"a.txt": "the watched one", "b.txt": "beside"})
    watching = watch(own_engine, folder)
    (tmp_path / "other").mkdir()
    write(tmp_path / "other", {"a.txt": "quite another", "o.txt": "other"})
    capsys.readouterr()

    folder.rename(tmp_path / "old")
    folder.symlink_to(tmp_path / "other")
    for _ in range(3):
        watching.look_again()
    exchanged = names_in(own_engine, folder)
    told = capsys.readouterr().err
    folder.unlink()
    # On a disk that is mounted again it would have all its files, though it might be called another.
    shutil.copytree(tmp_path / "old", folder)
    write(folder, {"c.txt": "come along"})
    for _ in range(3):
        watching.look_again()

    assert told.startswith(f"{folder} is another folder than before. Waiting; nothing is deleted.")
    assert exchanged.keys() == {"a.txt", "b.txt"}
    assert capsys.readouterr() == ("+ c.txt\n", "The folder is back.\n")


def test_a_file_that_one_look_saw_nowhere_is_not_gone(
    own_engine: EngineProgram, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"a.txt": "on the move", "b.txt": "at rest"})
    watching = watch(own_engine, folder)
    capsys.readouterr()

    (folder / "a.txt").rename(folder.with_name("on its way"))
    watching.look_again()
    folder.with_name("on its way").rename(folder / "c.txt")
    look_twice(watching)

    assert capsys.readouterr().out == "> a.txt -> c.txt\n"


def test_one_change_after_the_other_is_followed_without_reading_the_whole_base(
    own_engine: EngineProgram, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document without a file shows when the base is read: then it is deleted."""
    write(folder, {"a.txt": "one", "b.txt": "two"})
    watching = watch(own_engine, folder)
    write(folder, {"a.txt": "three"})
    look_twice(watching)
    change_base(own_engine, lambda client: add_stranger(client, folder))

    write(folder, {"a.txt": "four"})
    look_twice(watching)
    (folder / "a.txt").rename(folder / "c.txt")
    look_twice(watching)
    (folder / "c.txt").unlink()
    look_twice(watching)
    told = capsys.readouterr()
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + COMPARE_ALL_AFTER_SECONDS)
    watching.look_again()

    assert told.out.splitlines()[2:] == ["~ a.txt", "~ a.txt", "> a.txt -> c.txt", "- c.txt"]
    assert told.err == ""
    assert capsys.readouterr().out == "- stranger.txt\n"


async def add_stranger(client: EngineClient, folder: Path) -> None:
    job = await client.submit_file(("stranger.txt", b"without a file"), source_path=str(folder / "stranger.txt"))
    await client.wait_for_job(job["id"])


def test_what_somebody_has_changed_meanwhile_is_followed_when_the_base_has_been_read_again(
    own_engine: EngineProgram, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"a.txt": "tagged soon", "b.txt": "gone soon"})
    watching = watch(own_engine, folder)
    write(folder, {"a.txt": "tagged now", "b.txt": "gone now"})
    look_twice(watching)
    capsys.readouterr()
    change_base(own_engine, lambda client: tag_and_delete(client, folder))

    for name in ("a.txt", "b.txt"):
        (folder / name).rename(folder / f"new-{name}")
    look_twice(watching)
    refused = capsys.readouterr()
    watching.look_again()

    assert (refused.out, len(refused.err.splitlines())) == ("", 2)
    assert capsys.readouterr() == ("> a.txt -> new-a.txt\n+ new-b.txt\n", "")


def test_a_document_that_somebody_deleted_is_there_again_after_the_next_change_of_its_file(
    own_engine: EngineProgram, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"a.txt": "deleted soon", "b.txt": "beside it"})
    watching = watch(own_engine, folder)
    for text in ("deleted now", "back again"):
        write(folder, {"a.txt": text})
        look_twice(watching)
        change_base(own_engine, lambda client: delete_first(client, folder))
    write(folder, {"a.txt": "back for good"})
    look_twice(watching)
    capsys.readouterr()

    write(folder, {"b.txt": "changed"})
    look_twice(watching)

    # What is told of one file is all that is done: the new document is not taken for one too many.
    assert capsys.readouterr() == ("~ b.txt\n", "")
    assert names_in(own_engine, folder).keys() == {"a.txt", "b.txt"}


async def delete_first(client: EngineClient, folder: Path) -> None:
    documents = await client.list_documents(source_folder=str(folder), sort="source_path")
    await client.delete_document(documents["documents"][0]["id"])


async def tag_and_delete(client: EngineClient, folder: Path) -> None:
    tagged, deleted = (await client.list_documents(source_folder=str(folder), sort="source_path"))["documents"]
    await client.add_tags(tagged["id"], ["precious"])
    await client.delete_document(deleted["id"])


def test_what_has_not_settled_is_left_alone_and_a_folder_that_dwindles_too(
    own_engine: EngineProgram, folder: Path
) -> None:
    names = [f"{number}.txt" for number in range(14)]
    write(folder, {name: f"{name} is here" for name in names})
    follower = follow(own_engine, folder)
    follower.begin()
    write(folder, {"half.txt": "half of"})
    for name in names[1:12]:
        (folder / name).unlink()
    before = follower.look()

    write(folder, {"half.txt": "half of it, and more"})
    (folder / names[0]).unlink()
    follower.go_on(follower.look(), before)
    dwindling = names_in(own_engine, folder)
    follower.go_on(follower.look(), follower.look())

    assert dwindling.keys() == {*names}
    assert names_in(own_engine, folder).keys() == {*names[12:], "half.txt"}


def test_a_watch_in_the_background_follows_and_ends_plainly_when_it_is_told_to(
    own_engine: EngineProgram, folder: Path, tmp_path: Path
) -> None:
    write(folder, {"first.txt": "standing orders"})
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": own_engine.url, "XDG_CACHE_HOME": str(tmp_path)})
    command = kb_command("sync", str(folder), "--watch", "--yes")

    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Watching ")
        write(folder, {"second.txt": "new orders"})
        output = [process.stdout.readline(), process.stdout.readline()]
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=FOLLOWS_WITHIN_SECONDS)

    assert (process.returncode, rest) == (0, "")
    assert output == ["+ first.txt\n", "+ second.txt\n"]
    assert errors.splitlines()[-1].startswith("2 added, 1 unchanged in ")


def test_a_watch_that_begins_before_the_engine_waits_for_it(
    own_engine: EngineProgram, folder: Path, tmp_path: Path
) -> None:
    write(folder, {"early.txt": "up before the engine"})
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": own_engine.url, "XDG_CACHE_HOME": str(tmp_path)})
    own_engine.stop()

    with subprocess.Popen(
        kb_command("sync", str(folder), "--watch", "--yes"),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        awaited = process.stderr.readline()
        own_engine.start()
        back, sent = process.stderr.readline(), process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=FOLLOWS_WITHIN_SECONDS)

    assert awaited == f"There is no engine at {own_engine.url} now. Waiting for it.\n"
    assert (back, sent, process.returncode) == ("The engine is back.\n", "+ early.txt\n", 0)


def test_c3_ctrl_c_is_how_a_watch_on_a_terminal_ends(own_engine: EngineProgram, folder: Path, tmp_path: Path) -> None:
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": own_engine.url, "XDG_CACHE_HOME": str(tmp_path)})

    with OnTerminal("sync", str(folder), "--watch", environment=environment) as screen:
        screen.wait_for("Ctrl-C ends it.")
        screen.interrupt()
        code = screen.wait()

    assert code == 0
    assert "Nothing to do in " in screen.output
    assert "Traceback" not in screen.output
