"""I3 to I5: pictures are read by several processes at once, which may die, hang and be stopped."""

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from tests.reading import find_readers_of
from tests.scanned_pages import write_scan

from kb.engine.errors import Unavailable, Unreadable
from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.extraction.recognition import (
    DEFAULT_LIMITS,
    MAX_DEATHS,
    MAX_PAGES,
    MAX_PICTURES,
    PICTURES_PER_PROCESS,
    Recognition,
)

WORDS = ("heron", "otter", "walrus", "badger", "magpie", "lizard") * 4


def nothing() -> None:
    """Nobody cancels."""


def find_readers() -> list[psutil.Process]:
    return find_readers_of(psutil.Process())


@pytest.fixture(autouse=True)
def no_reader_is_left() -> Iterator[None]:
    yield
    assert find_readers() == []


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    return write_scan(tmp_path / "scan.tiff", [[word] for word in WORDS])


@pytest.fixture
def recognise(scan: Path) -> Iterator[Callable[..., Recognition]]:
    opened: list[Recognition] = []

    def recognise(names: Sequence[int], watch: Callable[[], None] = nothing, **options: object) -> Recognition:
        recognition = Recognition("tiff", scan, watch=watch, **options)  # type: ignore[arg-type]
        opened.append(recognition)
        for name in names:
            recognition.ask(Picture(str(name), is_page=True))
        return recognition

    yield recognise
    for recognition in opened:
        recognition.close()


def hear_all(recognition: Recognition, count: int) -> list[str]:
    """The text of each picture, or why there is none."""
    heard = []
    for _ in range(count):
        try:
            heard.append(recognition.answer().text)
        except Unreadable as reason:
            heard.append(reason.code)
    return heard


def test_pictures_are_told_in_the_order_in_which_they_were_asked_for(
    recognise: Callable[..., Recognition],
) -> None:
    """I3"""
    recognition = recognise([6, 1, 5, 2, 4, 3], processes=2)

    assert hear_all(recognition, 6) == [WORDS[number - 1] for number in (6, 1, 5, 2, 4, 3)]
    assert len(find_readers()) == 2


def test_a_process_is_replaced_before_it_has_eaten_too_much(recognise: Callable[..., Recognition]) -> None:
    """I5"""
    count = PICTURES_PER_PROCESS + 2
    recognition = recognise(range(1, count + 1), processes=1)

    first_text = recognition.answer().text
    (first,) = find_readers()
    texts = hear_all(recognition, count - 1)

    assert [first_text, *texts] == list(WORDS[:count])
    (second,) = find_readers()
    assert first != second


@pytest.mark.parametrize("disturb", [signal.SIGSEGV, signal.SIGKILL])
def test_a_picture_whose_process_is_killed_is_read_again(
    recognise: Callable[..., Recognition], disturb: signal.Signals
) -> None:
    """I5"""
    recognition = recognise([1], processes=1)

    first = recognition.answer()
    (reader,) = find_readers()
    reader.send_signal(disturb)
    for name in ("2", "3"):
        recognition.ask(Picture(name))
    heard = hear_all(recognition, 2)

    assert first.text == WORDS[0]
    assert heard == [WORDS[1], WORDS[2]]


def test_a_picture_that_stops_its_process_is_left_out(
    recognise: Callable[..., Recognition], monkeypatch: pytest.MonkeyPatch
) -> None:
    """I5"""
    recognition = recognise([1], processes=1)

    first = recognition.answer()
    (reader,) = find_readers()
    reader.suspend()
    for name in ("2", "3"):
        recognition.ask(Picture(name))
    with monkeypatch.context() as for_the_second:
        # Those before and behind it have a process started, which may take long on a busy machine.
        for_the_second.setitem(vars(DEFAULT_LIMITS), "seconds_a_part", 5)
        second = hear_all(recognition, 1)
    third = hear_all(recognition, 1)

    assert first.text == WORDS[0]
    assert (second, third) == (["extraction_timeout"], [WORDS[2]])


@contextmanager
def killing_readers() -> Iterator[None]:
    """Each, before it has read anything."""
    done = threading.Event()

    def kill() -> None:
        while not done.wait(0.001):
            for reader in find_readers():
                # It may be gone meanwhile.
                with suppress(psutil.NoSuchProcess):
                    reader.kill()

    with ThreadPoolExecutor(1) as threads:
        killing = threads.submit(kill)
        try:
            yield
        finally:
            done.set()
        killing.result()


def test_a_document_whose_pictures_kill_again_and_again_is_given_up(recognise: Callable[..., Recognition]) -> None:
    """I5"""

    recognition = recognise(range(1, 11), processes=1)

    with killing_readers():
        heard = hear_all(recognition, 10)

    assert heard == ["extraction_limit"] * (MAX_DEATHS + 1) + ["ocr_failed"] * (9 - MAX_DEATHS)


def test_a_picture_that_is_damaged_harms_no_other(recognise: Callable[..., Recognition]) -> None:
    """I5"""
    recognition = recognise([1, 99, 2], processes=1)

    assert hear_all(recognition, 3) == [WORDS[0], "corrupt_file", WORDS[1]]
    assert len(find_readers()) == 1


def test_nothing_is_read_twice_and_nothing_without_end(recognise: Callable[..., Recognition]) -> None:
    """I5"""
    recognition = recognise([])

    assert recognition.ask(Picture("1"))
    assert not recognition.ask(Picture("1"))
    assert sum(recognition.ask(Picture(f"inside {number}")) for number in range(MAX_PICTURES)) == MAX_PICTURES - 1
    assert all(recognition.ask(Picture(f"page {number}", is_page=True)) for number in range(MAX_PAGES))
    with pytest.raises(Unreadable) as refused:
        recognition.ask(Picture("one page more", is_page=True))
    assert refused.value.code == "extraction_limit"


def test_models_that_cannot_be_loaded_are_not_the_files_fault(
    recognise: Callable[..., Recognition], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """I5: the job is tried again."""
    # Not the folder of the document: the reader imports nothing from there.
    package = tmp_path / "packages/rapidocr"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])

    with pytest.raises(Unavailable):
        recognise([1], processes=1).answer()


def test_whoever_cancels_does_not_wait_for_a_picture(recognise: Callable[..., Recognition]) -> None:
    """I4: also inside OCR."""

    class Cancelled(Exception):
        pass

    is_cancelled = False

    def watch() -> None:
        if is_cancelled:
            raise Cancelled

    recognition = recognise([1, 2, 3, 4], watch, processes=2)
    recognition.answer()
    for reader in find_readers():
        reader.suspend()
    is_cancelled = True
    cancelled_at = time.monotonic()

    with pytest.raises(Cancelled):
        hear_all(recognition, 3)
    recognition.close()

    # Else it would wait half an hour.
    assert time.monotonic() < cancelled_at + 60
    assert find_readers() == []


def count_filters(pid: int) -> int:
    """The number of filters of system calls in a process."""
    found = re.search(r"^Seccomp_filters:\t(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_whoever_reads_pictures_can_change_nothing_and_comes_last(recognise: Callable[..., Recognition]) -> None:
    """I5, I8; what the kernel refuses it is tried in `test_confinement.py`."""
    recognise([1], processes=1).answer()

    (reader,) = find_readers()
    # The second filter refuses new threads.
    assert count_filters(reader.pid) == count_filters(os.getpid()) + 2
    assert reader.rlimit(psutil.RLIMIT_AS) == (DEFAULT_LIMITS.memory_bytes, DEFAULT_LIMITS.memory_bytes)
    assert reader.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)
    if os.geteuid() == 0:  # Its memory is hidden from its own user, so only root can read it.
        assert reader.environ()["ORT_DISABLE_TELEMETRY"] == "1"
    assert reader.nice() == 19
    group = Path(f"/proc/{reader.pid}/autogroup")
    assert not group.exists() or group.read_text().endswith("nice 19\n")
