"""Other programs of the same user cannot read the memory of a program, with its keys."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.engine_program import EngineProgram
from tests.needs import need_right

NOBODY = 65534
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
PROGRAM = f"""
import ctypes, os, sys
sys.path[:] = sys.argv[2:]
from kb.hidden_memory import hide_memory
if os.geteuid() == 0:
    os.setuid({NOBODY})
    ctypes.CDLL(None).prctl({PR_SET_DUMPABLE}, 1, 0, 0, 0)
if sys.argv[1] == "hidden":
    hide_memory()
print("ready", flush=True)
sys.stdin.read()
"""
SPY = f"""
import os, sys
if os.geteuid() == 0:
    os.setuid({NOBODY})
readable = 0
for name in ("environ", "mem", "maps"):
    try:
        open(f"/proc/{{sys.argv[1]}}/{{name}}", "rb").close()
        readable += 1
    except OSError:
        pass
print(readable)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows memory to other programs by files")
@pytest.mark.parametrize(("mode", "readable"), [("shown", 3), ("hidden", 0)])
def test_hidden_memory_cannot_be_read_by_the_same_user(mode: str, readable: int) -> None:
    """I8"""
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, mode, *filter(None, sys.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"

        spied = subprocess.run(
            [sys.executable, "-I", "-S", "-c", SPY, str(program.pid)], stdout=subprocess.PIPE, check=True
        )

    assert int(spied.stdout) == readable


@pytest.fixture
def program_that_may_leave_dumps(model_folder: Path, tmp_path: Path) -> Iterator[EngineProgram]:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    need_right(hard != 0, "core dumps are forbidden here, also to programs that would not forbid them")
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        with EngineProgram(tmp_path).running() as program:
            yield program
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the limits of another process")
def test_engine_worker_and_mcp_server_hide_their_memory(program_that_may_leave_dumps: EngineProgram) -> None:
    """I8: root can read all memory, so these tests look at the limit of core dumps."""
    engine = psutil.Process(program_that_may_leave_dumps.process.pid)

    programs = [engine, *engine.children()]

    assert len(programs) == 3
    assert [one.rlimit(resource.RLIMIT_CORE)[0] for one in programs] == [0, 0, 0]
    if os.geteuid() != 0:
        assert {Path(f"/proc/{one.pid}/environ").stat().st_uid for one in programs} == {0}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows memory to other programs")
def test_a_child_hides_its_memory_with_its_options() -> None:
    """I8: worker and MCP server get their keys with these options."""
    program = f"import ctypes, kb.child; kb.child.read_options(); print(ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}))"

    ended = subprocess.run([sys.executable, "-c", program], input=b"{}\n", stdout=subprocess.PIPE, check=True)

    assert ended.stdout == b"0\n"
