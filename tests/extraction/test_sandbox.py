"""What a reader does to its process stays in its process."""

import gc
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from tests.extraction import taken_over
from tests.needs import need_right
from tests.reading import SAMPLES, find_readers_of, read_file

from kb.engine.errors import Unavailable, Unreadable
from kb.engine.ingestion.extraction import sandbox
from kb.engine.ingestion.extraction.reader_process import Limits
from kb.engine.ingestion.extraction.sandbox import Extraction, open_extraction
from kb.engine.ingestion.sections import Section

# When a reader is killed, its pipe and what was taken out of it hold up to 40 parts. So the fourth one is still at
# work, too, when its first part is here.
MANY_PARTS = 200


@pytest.fixture(scope="module")
def long_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "long.txt"
    paragraphs = (f"Paragraph {number}. " + "word " * 100 for number in range(MANY_PARTS * 100))
    path.write_text("\n\n".join(paragraphs))
    return path


def nothing() -> None:
    pass


def find_readers() -> list[psutil.Process]:
    """Those that read a document: the tests have other children, and some of these tests kill."""
    return find_readers_of(psutil.Process())


@pytest.fixture(autouse=True)
def no_reader_is_left() -> Iterator[None]:
    yield
    assert find_readers() == []


def read_on(extraction: Extraction, *, disturb: signal.Signals, times: int) -> list[str]:
    """The texts of all parts, when the reader gets the signal after each of the first parts that it sends."""
    texts = []
    for sections in extraction.parts():
        texts.append("\n\n".join(section.text for section in sections))
        if len(texts) <= times:
            for reader in find_readers():
                # It may be gone meanwhile: parts that it has sent still come.
                with suppress(psutil.NoSuchProcess):
                    reader.send_signal(disturb)
    return texts


@pytest.mark.parametrize(
    ("disturb", "limits"),
    [
        (signal.SIGKILL, Limits(characters_ahead=0)),
        (signal.SIGSEGV, Limits(characters_ahead=0)),
        (signal.SIGSTOP, Limits(characters_ahead=0, seconds_a_part=10)),
    ],
)
def test_a_part_that_kills_or_stops_the_reader_is_skipped_and_named(
    long_text: Path, disturb: signal.Signals, limits: Limits
) -> None:
    """I5"""
    with open_extraction("txt", long_text, watch=nothing, limits=limits) as extraction:
        texts = read_on(extraction, disturb=disturb, times=1)

        assert len(texts) == extraction.head.part_count >= MANY_PARTS
        (unread,) = extraction.unread
        assert [number for number, text in enumerate(texts, start=1) if not text] == [unread]
    paragraphs = [int(number) for number in re.findall(r"Paragraph (\d+)\.", "\n\n".join(texts))]
    (gap,) = [(one, other) for one, other in pairwise(paragraphs) if other != one + 1]
    assert gap[0] < gap[1]
    assert (paragraphs[0], paragraphs[-1]) == (0, MANY_PARTS * 100 - 1)


def test_a_reader_that_dies_again_and_again_is_given_up(long_text: Path) -> None:
    """I5"""
    with (
        open_extraction("txt", long_text, watch=nothing, limits=Limits(characters_ahead=0)) as extraction,
        pytest.raises(Unreadable) as refused,
    ):
        read_on(extraction, disturb=signal.SIGKILL, times=extraction.head.part_count)

    assert refused.value.code == "extraction_limit"
    assert len(extraction.unread) == 4


def test_whoever_cancels_does_not_wait_for_a_reader_that_hangs(long_text: Path) -> None:
    """I4"""

    class Cancelled(Exception):
        pass

    reader: psutil.Process | None = None

    def watch() -> None:
        if reader is not None:
            raise Cancelled

    with open_extraction("txt", long_text, watch=watch, limits=Limits(characters_ahead=0)) as extraction:
        parts = extraction.parts()
        next(parts)
        (reader,) = find_readers()
        reader.suspend()
        suspended_at = time.monotonic()

        with pytest.raises(Cancelled):
            list(parts)

    # Else it would wait a minute.
    assert time.monotonic() < suspended_at + 30
    assert not reader.is_running()


def test_blank_sections_are_not_read_far_ahead(long_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I5: a blank section takes memory, although it has no text."""
    monkeypatch.setattr(sandbox, "_MODULE", taken_over.__name__)

    with open_extraction("txt", long_text, watch=nothing) as extraction:
        parts = extraction.parts()
        next(parts)
        kept = sum(isinstance(one, Section) for one in gc.get_objects())

    assert kept <= 2 * taken_over.SECTIONS


def test_a_reader_has_no_line_to_other_readers(long_text: Path) -> None:
    """I5"""
    need_right(os.geteuid() == 0, "only root can look into the process of a reader")
    limits = Limits(characters_ahead=0)
    with (
        open_extraction("txt", long_text, watch=nothing, limits=limits),
        open_extraction("txt", long_text, watch=nothing, limits=limits),
    ):
        readers = find_readers()
        opened = [os.readlink(path) for one in readers for path in Path(f"/proc/{one.pid}/fd").iterdir()]

    assert len(readers) == 2
    assert [target for target in opened if target.startswith("socket:")] == []


def test_readers_begin_as_the_first_one_did(long_text: Path) -> None:
    """I5: whatever one imports or changes, none of the others has it."""
    need_right(os.geteuid() == 0, "only root can look into the process of a reader")
    read_file(SAMPLES / "pdf" / "letter-ghostscript.pdf")

    with open_extraction("txt", long_text, watch=nothing, limits=Limits(characters_ahead=0)):
        (reader,) = find_readers()
        mapped = [region.path for region in reader.memory_maps()]

    assert [path for path in mapped if "pdfium" in path] == []


def test_when_the_process_dies_that_readers_are_forked_off_it_is_nobodys_fault(long_text: Path) -> None:
    """I5: the job is tried again, and then read."""
    with open_extraction("txt", long_text, watch=nothing, limits=Limits(characters_ahead=0)) as extraction:
        (reader,) = find_readers()
        psutil.Process(reader.ppid()).kill()
        with pytest.raises(Unavailable):
            list(extraction.parts())

    assert read_file(long_text).parts


def test_a_reader_dies_with_its_parent(long_text: Path) -> None:
    """I5"""
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from kb.engine.ingestion.extraction.sandbox import open_extraction\n"
        "with open_extraction('txt', Path(sys.argv[1]), watch=lambda: None) as extraction:\n"
        "    print('reading', flush=True)\n"
        "    time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    parent = subprocess.Popen([sys.executable, "-c", program, str(long_text)], stdout=subprocess.PIPE, env=environment)
    with parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        (fork_server,) = psutil.Process(parent.pid).children()
        (reader,) = fork_server.children()
        # It can neither notice that nobody listens any more nor end by itself.
        reader.suspend()

        parent.kill()

    _, alive = psutil.wait_procs([reader, fork_server], timeout=60)
    assert alive == []


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(memory_bytes=30 * 1024 * 1024), "extraction_limit"),
        (Limits(characters=1_000_000), "extraction_limit"),
        (Limits(parts=3), "extraction_limit"),
        (Limits(line_bytes=1_000), "extraction_limit"),
        (Limits(seconds_to_open=0.0), "extraction_timeout"),
        (Limits(seconds_a_part=0.0), "extraction_timeout"),
    ],
)
def test_what_takes_more_than_a_document_may_is_refused(long_text: Path, limits: Limits, code: str) -> None:
    """I5"""
    with pytest.raises(Unreadable) as refused:
        read_file(long_text, limits)

    assert refused.value.code == code


def test_a_reader_that_computes_without_end_is_ended(tmp_path: Path) -> None:
    """I5"""
    endless = tmp_path / "endless.txt"
    # One letter's accents are put in order by comparing each with all before it.
    endless.write_text("e" + "\u0301\u0323" * 100_000)

    with pytest.raises(Unreadable) as refused:
        read_file(endless, Limits(cpu_seconds=1))

    assert refused.value.code == "extraction_timeout"


def test_a_file_that_vanished_is_not_to_blame(tmp_path: Path) -> None:
    """I5: the job is tried again."""
    with pytest.raises(Unavailable), open_extraction("txt", tmp_path / "missing.txt", watch=nothing):
        pass


def test_a_parser_that_is_not_installed_is_not_the_files_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """I5: the job is tried again."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.endswith("site-packages")])

    with pytest.raises(Unavailable):
        read_file(SAMPLES / "pdf" / "letter-ghostscript.pdf")
