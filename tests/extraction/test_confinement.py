"""The rights of a parser that its file has taken over: the tests make native system calls in a confined process."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.needs import need_right

from kb.engine.ingestion.extraction.landlock import find_version
from kb.engine.ingestion.extraction.system_calls import ALLOWED_CALLS

CONFINED = """
import sys
sys.path[:] = sys.argv[4:]
import os
from pathlib import Path
from kb.engine.ingestion.extraction.confinement import confine, refuse_threads
from kb.engine.ingestion.extraction.landlock import open_nothing_but
before, starts_threads, attempt = sys.argv.pop(1), sys.argv.pop(1) == "True", sys.argv.pop(1)
sys.path[:] = sys.argv[1:]
exec(before)
confine(
    memory_bytes=1 << 30, cpu_seconds=5, parent=os.getppid(), file=Path("there").absolute(),
    starts_threads=starts_threads,
)
import ctypes, fcntl, resource, signal, socket, subprocess, _thread, time
def call(name, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), "refused")
def system_call(*arguments):
    call("syscall", *arguments)
def count_new_threads():
    try:
        for count in range(20):
            _thread.start_new_thread(time.sleep, (60,))
    except RuntimeError:
        return count
    return 20
try:
    exec(attempt)
except OSError as error:
    os._exit(error.errno)
os._exit(0)
"""


def run_confined(attempt: str, folder: Path, *, before: str = "", starts_threads: bool = False) -> int:
    """The error number of the attempt, 0 if it succeeded. The reader's file is called `there`."""
    return attempt_confined(attempt, folder, before=before, starts_threads=starts_threads).returncode


def attempt_confined(
    attempt: str, folder: Path, *, before: str = "", starts_threads: bool = False
) -> subprocess.CompletedProcess[bytes]:
    options = [before, str(starts_threads), attempt, *filter(None, sys.path)]
    command = [sys.executable, "-I", "-S", "-B", "-c", CONFINED, *options]
    return subprocess.run(command, cwd=folder, check=False, stdout=subprocess.PIPE)


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
        "resource.prlimit(0, resource.RLIMIT_FSIZE, (99, 99))",
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
        "fcntl.lockf(open('there'), fcntl.LOCK_SH)",
        "fcntl.lockf(open('there'), fcntl.LOCK_SH | fcntl.LOCK_NB)",
        "fcntl.flock(open('there'), fcntl.LOCK_EX)",
        "fcntl.fcntl(open('there'), 37, bytes(32))",  # F_OFD_SETLK
        "fcntl.fcntl(open('there'), fcntl.F_SETLEASE, fcntl.F_RDLCK)",
        "call('shmget', 0, 4096, 0o600)",
        "call('semget', 0, 1, 0o600)",
        "call('msgget', 0, 0o600)",
        "system_call(241, b'queue')",  # mq_unlink
        "system_call(249, b'user', b'name', b'callout', 0)",  # request_key
        "call('inotify_init')",
        "call('fanotify_init', 0, 0)",
        "system_call(206, 8, ctypes.byref(ctypes.c_ulong()))",  # io_setup
        "system_call(312, os.getpid(), os.getppid(), 0, 0, 0)",  # kcmp
        "system_call(279, os.getppid(), 0, 0, 0, 0, 0)",  # move_pages
        "os.memfd_create('memory')",
    ],
)
def test_a_reader_can_reach_nothing_and_change_nothing(tmp_path: Path, attempt: str) -> None:
    """I5, I8"""
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
def test_newer_calls_fail_as_on_an_old_kernel(tmp_path: Path, attempt: str) -> None:
    """I5"""
    assert run_confined(attempt, tmp_path) == 38, "ENOSYS"


def test_a_reader_can_abort(tmp_path: Path) -> None:
    """Libraries abort when they get no memory."""
    assert run_confined("os.abort()", tmp_path) == -signal.SIGABRT


@pytest.fixture
def segment() -> Iterator[int]:
    """Memory that other processes of this user share."""
    libc = ctypes.CDLL(None)
    number: int = libc.shmget(0, 4096, 0o600)
    yield number
    libc.shmctl(number, 0, None)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses system calls")
@pytest.mark.parametrize("attempt", ["call('shmat', {}, None, 0)", "call('shmctl', {}, 0, None)"])
def test_a_reader_cannot_reach_shared_memory_of_others(tmp_path: Path, segment: int, attempt: str) -> None:
    """I8"""
    assert run_confined(attempt.format(segment), tmp_path) == 1, "EPERM"


MACHINES = ("x86_64", "aarch64")
# These would end the child, or make it jump to an invalid address.
ENDING = {"exit", "exit_group", "rt_sigreturn"}
# uretprobe and uprobe: newer kernels end a process that calls them, and do not ask the filter.
NOT_FILTERED = {335, 336}
SWEEP = """
libc = ctypes.CDLL(None, use_errno=True)
for number in set(range(501)) - {left_out}:
    ctypes.set_errno(0)
    libc.syscall(number, *[ctypes.c_long(-1)] * 6)
    if ctypes.get_errno() not in (1, 38):
        os.write(1, b"%d " % number)
"""


@pytest.mark.skipif(os.uname().machine not in MACHINES, reason="the filter knows no other processors")
def test_only_calls_of_the_list_are_not_refused(tmp_path: Path) -> None:
    """I8: calls whose arguments are checked refuse the arguments of this test."""
    machine = MACHINES.index(os.uname().machine)
    left_out = {ALLOWED_CALLS[name][machine] for name in ENDING} | NOT_FILTERED

    sweep = attempt_confined(SWEEP.format(left_out=left_out), tmp_path)

    assert sweep.returncode == 0
    not_refused = set(map(int, sweep.stdout.split()))
    assert not_refused - {numbers[machine] for numbers in ALLOWED_CALLS.values()} == set()
    assert len(not_refused) > 40


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses system calls")
def test_a_reader_cannot_start_a_thread(tmp_path: Path) -> None:
    """I8"""
    assert run_confined("os._exit(100 + count_new_threads())", tmp_path) == 100


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses system calls")
def test_a_reader_with_threads_cannot_start_more(tmp_path: Path) -> None:
    """I8: a reader of pictures has its threads before it opens the file."""
    attempt = """
started, asked, counted = _thread.allocate_lock(), _thread.allocate_lock(), _thread.allocate_lock()
counts = []
def count():
    with asked:
        counts.append(count_new_threads())
        counted.release()
asked.acquire(), counted.acquire()
_thread.start_new_thread(count, ())
refuse_threads()
asked.release(), counted.acquire()
os._exit(100 + counts[0] + count_new_threads())
"""
    assert run_confined(attempt, tmp_path, starts_threads=True) == 100


@pytest.fixture
def only_with_landlock() -> None:
    need_right(find_version() > 0, "this kernel has no Landlock")


FOREIGN = [
    "open('foreign').read()",
    "open('../foreign').read()",
    "open('/proc/self/cwd/foreign').read()",
    "open('/etc/passwd').read()",
    "os.listdir('.')",
    "os.listdir(Path.home())",
    "os.listdir('/proc')",
    "open(f'/proc/{os.getppid()}/environ').read()",
    "open(f'/proc/{os.getppid()}/mem').read()",
    "open(f'/proc/{os.getppid()}/cmdline').read()",
]


@pytest.mark.usefixtures("only_with_landlock")
@pytest.mark.parametrize("attempt", FOREIGN)
def test_a_reader_opens_no_other_file_and_no_other_process(tmp_path: Path, attempt: str) -> None:
    """I8"""
    for path in (tmp_path / "there", tmp_path / "foreign", tmp_path / "folder/there", tmp_path / "folder/foreign"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("foreign")

    assert run_confined(attempt, tmp_path / "folder") == 13, "EACCES"


def test_a_reader_can_read_its_file_and_import_modules(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("as it was")

    assert run_confined("assert open('there').read() == 'as it was'; import wave, lxml.etree, numpy", tmp_path) == 0


def test_the_current_folder_is_not_a_folder_of_libraries(
    tmp_path: Path, only_with_landlock: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I8: Python searches for modules there if it was started with -m."""
    (tmp_path / "foreign").write_text("foreign")
    monkeypatch.syspath_prepend(tmp_path)

    assert run_confined("open('foreign')", tmp_path) == 13, "EACCES"


def test_a_link_to_the_folder_of_the_file_is_not_a_folder_of_libraries(
    tmp_path: Path, only_with_landlock: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I8"""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "foreign").write_text("foreign")
    (tmp_path / "link").symlink_to(documents)
    monkeypatch.syspath_prepend(tmp_path / "link")

    assert run_confined("open('foreign')", documents) == 13, "EACCES"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses system calls")
def test_without_landlock_the_filter_still_holds(tmp_path: Path) -> None:
    """I8: a process can use Landlock sixteen times; after that it fails, as on a kernel without Landlock."""
    (tmp_path / "there").write_text("as it was")
    use_up = "while open_nothing_but(['/']): pass"

    reads = run_confined("open('there').read()", tmp_path, before=use_up)
    connects = run_confined("socket.socket()", tmp_path, before=use_up)

    assert (reads, connects) == (0, 1)


def test_each_piece_of_work_gets_its_own_time_limit(tmp_path: Path) -> None:
    """I5"""
    work = "from kb.engine.ingestion.extraction.confinement import allow_cpu_seconds as allow\nimport time\n"
    spin = "spun = time.process_time()\nwhile time.process_time() < spun + {}: pass\n"

    one_too_long = run_confined(f"{work}allow(1)\n{spin.format(3)}", tmp_path)
    three_in_time = run_confined(f"{work}{3 * f'allow(2){chr(10)}{spin.format(0.7)}'}", tmp_path)

    assert (one_too_long, three_in_time) == (-signal.SIGXCPU, 0)
