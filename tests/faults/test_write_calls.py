"""A kill, or an error, at a chosen one of the calls by which a process writes (E24).

Random moments fall into long waits; these fall between any two writes to the disk. strace counts the calls of each
kind and tampers with one of them: before it the process dies, or in its place the system says that it failed.
"""

import itertools
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.amounts import SEED, Tell, amount
from tests.backends import MODEL
from tests.consistency import assert_base_is_consistent, assert_originals_are_those_in_use
from tests.engine_program import own_environment
from tests.faults.scripted_writes import State, read_state, states
from tests.folders import open_folder

from kb.engine.originals import FolderOriginals
from kb.engine.storage import open_store

CALLS = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "rename", "unlink", "mkdir")
WRITES = 40
STATES = states(WRITES)

Point: TypeAlias = tuple[str, int]
"""A kind of call, and which of those that the process makes."""

# Where an error once did harm: an accepted upload was answered as if it had failed.
FOUND_ONCE: list[Point] = [("unlink", 2)]


def write_under_strace(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["strace", *options, sys.executable, "-m", "tests.faults.scripted_writes", str(folder), str(WRITES)],
        env=own_environment(folder),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def tamper(folder: Path, point: Point, how: str) -> subprocess.CompletedProcess[str]:
    call, number = point
    inject = f"inject={call}:{how}:when={number}"
    return write_under_strace(folder, "-o", "/dev/null", "-e", f"trace={call}", "-e", inject)


@pytest.fixture(scope="module")
def calls() -> Counter[str]:
    """How many calls of each kind an undisturbed run makes."""
    with open_folder() as folder:
        log = Path(folder) / "calls"
        done = write_under_strace(Path(folder), "-o", str(log), "-e", f"trace={','.join(CALLS)}")
        assert done.returncode == 0, done.stderr
        return Counter(line.partition("(")[0] for line in log.read_text().splitlines() if "(" in line)


def choose_points(calls: Counter[str], count: int) -> list[Point]:
    """Half of them among the many writes to database and log, half among the few other calls; spread evenly."""
    ample = [("pwrite64", number) for number in range(1, calls["pwrite64"] + 1)]
    rare = [(call, number) for call in CALLS[1:] for number in range(1, calls[call] + 1)]
    chance = random.Random(SEED)  # noqa: S311 - no secret
    return _spread(ample, count - count // 2, chance) + _spread(rare, count // 2, chance)


def _spread(points: Sequence[Point], count: int, chance: random.Random) -> list[Point]:
    step = len(points) / count
    return [points[int((place + chance.random()) * step)] for place in range(count)]


def read_base(folder: Path) -> State:
    """What a fresh start finds, after it has been found whole."""
    originals = FolderOriginals(folder / "originals")
    with closing(open_store(folder, model_fingerprint=MODEL)) as store:
        originals.sweep(store.is_original_in_use)
        state = read_state(store)
    assert_base_is_consistent(folder / "kb.sqlite")
    assert_originals_are_those_in_use(folder)
    return state


def kill_at(point: Point) -> int:
    """Returns how many writes were acknowledged."""
    with open_folder() as name:
        folder = Path(name)
        done = tamper(folder, point, "signal=SIGKILL")
        acknowledged = len(done.stdout.split())
        state = read_base(folder)
    assert done.returncode == -9, (point, done.stderr)
    # The one under way when the process died may be there or not; it was not acknowledged.
    assert state in STATES[acknowledged : acknowledged + 2], (point, acknowledged)
    return acknowledged


def fail_at(point: Point, error: str) -> int:
    """Returns how often the writer was refused."""
    with open_folder() as name:
        folder = Path(name)
        done = tamper(folder, point, f"error={error}")
        said = done.stdout.split()
        state = read_base(folder)
    if not said:
        # The base could not even be made. That must be said, not shown as a bug would be.
        assert "kb.engine.errors" in done.stderr, (point, error, done.stderr)
        return 1
    assert done.returncode == 0, (point, error, done.stderr)
    assert [word for word in said if word != "refused"] == [str(number) for number in range(1, WRITES + 1)]
    assert state == STATES[WRITES], (point, error)
    return said.count("refused")


@pytest.mark.usefixtures("strace")
def test_a_kill_at_any_write_call_leaves_what_was_acknowledged_and_nothing_half(
    calls: Counter[str], tell: Tell
) -> None:
    """E24, E4, E14, E17"""
    points = choose_points(calls, amount(selection=12, full=200))

    with ThreadPoolExecutor(2) as threads:
        acknowledged = list(threads.map(kill_at, points))

    # The points lie all over the script, or nothing would have been shown.
    assert min(acknowledged) < WRITES / 4
    assert max(acknowledged) > WRITES / 2
    tell(f"{len(points)} kills at write calls (of {calls.total()}): no acknowledged write lost, none half")


@pytest.mark.usefixtures("strace")
def test_an_error_at_any_write_call_refuses_one_write_and_harms_none(calls: Counter[str], tell: Tell) -> None:
    """E24, E2: disk full and input/output errors; the process goes on."""
    points = FOUND_ONCE + choose_points(calls, amount(selection=3, full=50))
    trials = list(itertools.product(points, ("ENOSPC", "EIO")))

    with ThreadPoolExecutor(2) as threads:
        refused = list(threads.map(lambda trial: fail_at(*trial), trials))

    tell(f"{len(trials)} errors at write calls: {sum(refused)} writes refused, then done; none lost, none half")
