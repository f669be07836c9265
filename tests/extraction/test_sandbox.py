"""What a reader does to its process stays in its process."""

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
from tests.reading import SAMPLES, find_readers_of, read_file

from kb.engine.errors import Unavailable, Unreadable
from kb.engine.ingestion.extraction.reader_process import Limits
from kb.engine.ingestion.extraction.sandbox import Extraction, open_extraction

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


def test_a_reader_has_no_line_to_other_readers(long_text: Path) -> None:
    """I5"""
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


CONFINED = """
import sys
sys.path[:] = sys.argv[2:]
import os
from kb.engine.ingestion.extraction.confinement import confine
confine(memory_bytes=1 << 30, cpu_seconds=5, parent=os.getppid())
import ctypes, fcntl, resource, signal, socket, subprocess
def system_call(*arguments):
    if ctypes.CDLL(None, use_errno=True).syscall(*arguments) == -1:
        raise OSError(ctypes.get_errno(), "refused")
try:
    exec(sys.argv[1])
except OSError as error:
    sys.exit(error.errno)
"""


def run_confined(attempt: str, folder: Path) -> int:
    command = [sys.executable, "-I", "-S", "-B", "-c", CONFINED, attempt, *filter(None, sys.path)]
    return subprocess.run(command, cwd=folder, check=False).returncode


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses system calls")
@pytest.mark.parametrize(
    "attempt",
    [
        "socket.socket(socket.AF_INET)",
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair()",
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "subprocess.run(['/bin/true'])",
        "os.execv('/bin/true', ['true'])",
        "os.kill(os.getppid(), 0)",
        "system_call(234, os.getppid(), os.getppid(), 0)",
        "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (5, 5))",
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 10)",
        "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())",
        "fcntl.fcntl(os.pipe()[0], 10, signal.SIGKILL)",
        "os.utime('there', (0, 0))",
        "os.setxattr('there', 'user.a', b'b')",
        "open('new', 'w')",
        "open('there', 'a')",
        "open('there', 'r+')",
        "os.open('there', os.O_RDONLY | os.O_TRUNC)",
        "os.remove('there')",
        "os.rename('there', 'elsewhere')",
        "os.truncate('there', 0)",
        "os.chmod('there', 0)",
        "os.link('there', 'link')",
        "os.symlink('there', 'link')",
        "os.mkdir('folder')",
        "os.mkfifo('pipe')",
    ],
)
def test_a_reader_can_reach_nothing_and_change_nothing(tmp_path: Path, attempt: str) -> None:
    """I5"""
    (tmp_path / "there").write_text("as it was")

    refused_with = run_confined(attempt, tmp_path)

    assert refused_with == 1, "EPERM"
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("there", "as it was")]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses system calls")
@pytest.mark.parametrize(
    "attempt",
    [
        "os.pidfd_open(os.getppid())",
        "system_call(424, 0, 0, 0, 0)",  # pidfd_send_signal
        "system_call(425, 1, 0)",  # io_uring_setup
        "system_call(437, -100, b'new', 0, 0)",  # openat2
        "system_call(1 << 30 | 41, 2, 1, 0)",  # socket, with 32-bit pointers
    ],
)
def test_newer_ways_to_the_same_are_as_if_they_were_not_there(tmp_path: Path, attempt: str) -> None:
    """I5"""
    assert run_confined(attempt, tmp_path) == 38, "ENOSYS"


def test_a_reader_can_abort(tmp_path: Path) -> None:
    """Libraries do so when they get no memory."""
    assert run_confined("os.abort()", tmp_path) == -signal.SIGABRT


def test_a_reader_can_read_and_use_threads(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("as it was")
    attempt = "open('there').read(); import threading; t = threading.Thread(target=str); t.start(); t.join()"

    assert run_confined(attempt, tmp_path) == 0


def test_each_of_several_pieces_of_work_is_given_a_time_of_its_own(tmp_path: Path) -> None:
    """I5"""
    work = "from kb.engine.ingestion.extraction.confinement import allow_cpu_seconds as allow\nimport time\n"
    spin = "spun = time.process_time()\nwhile time.process_time() < spun + {}: pass\n"

    one_too_long = run_confined(f"{work}allow(1)\n{spin.format(3)}", tmp_path)
    three_in_time = run_confined(f"{work}{3 * f'allow(2){chr(10)}{spin.format(0.7)}'}", tmp_path)

    assert (one_too_long, three_in_time) == (-signal.SIGXCPU, 0)
