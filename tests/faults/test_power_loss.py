"""What a power cut leaves: copies of the database and its log, taken while a process writes (E24).

The process is stopped for the moment of copying, so that a copy is what the files hold at one instant. Everything
that was acknowledged must be in it. Then the end of the log is taken away, or replaced by noise, as if the disk had
not kept it. That may take writes along, but only the last ones: the base opens, is whole, and is as it once was.
"""

import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.amounts import SEED, Tell, amount
from tests.backends import MODEL
from tests.consistency import assert_base_is_consistent
from tests.engine_program import own_environment
from tests.faults.scripted_writes import State, read_state, states
from tests.folders import open_folder

from kb.engine.storage import open_store

MORE_WRITES_THAN_ARE_WAITED_FOR = 1_000_000
FRAME_BYTES = 24 + 8192


class WritingProcess:
    """Stopped, except within `run_for`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "base"
        self.folder.mkdir()
        self._said = folder / "said"
        arguments = [str(self.folder), str(MORE_WRITES_THAN_ARE_WAITED_FOR)]
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.scripted_writes", *arguments],
                env=own_environment(folder),
                cwd=Path(__file__).parents[2],
                stdout=said,
            )
        while self.acknowledged == 0:
            assert self._process.poll() is None
            time.sleep(0.01)
        self._stop()

    @property
    def acknowledged(self) -> int:
        return self._said.read_text().count("\n")

    def run_for(self, seconds: float) -> None:
        self._process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self._stop()

    def _stop(self) -> None:
        self._process.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def copy_of(folder: Path) -> Iterator[Path]:
    """Without the file of shared memory, which no power cut leaves."""
    with open_folder() as copy:
        for name in ("kb.sqlite", "kb.sqlite-wal"):
            if (folder / name).exists():
                shutil.copyfile(folder / name, Path(copy) / name)
        yield Path(copy)


def damage_end_of_log(folder: Path, unharmed_bytes: int, chance: random.Random) -> None:
    log = folder / "kb.sqlite-wal"
    size = log.stat().st_size if log.exists() else 0
    if size <= unharmed_bytes:
        return
    cut = chance.randrange(unharmed_bytes, size)
    os.truncate(log, cut)
    if chance.random() < 0.5:
        with log.open("ab") as file:
            file.write(chance.randbytes(size - cut))


def flushed_log_bytes(folder: Path) -> int:
    """How much of the log is surely on disk: what may have been copied into the database was flushed before.

    The file of shared memory says how much that is: its header, twice, with the salt of the log that it speaks of;
    then, among others, the number of frames that it was tried to copy.
    """
    log, shared = folder / "kb.sqlite-wal", (folder / "kb.sqlite-shm").read_bytes()
    with log.open("rb") as file:
        salt_of_log = file.read(32)[16:24]
    if shared[32:40] != salt_of_log:
        return log.stat().st_size  # the whole of it was copied, and the next write begins it anew
    (frames,) = struct.unpack_from("=I", shared, 128)
    return 32 + int(frames) * FRAME_BYTES


def read_whole_base(folder: Path) -> State:
    with closing(open_store(folder, model_fingerprint=MODEL)) as store:
        state = read_state(store)
    assert_base_is_consistent(folder / "kb.sqlite")
    return state


def test_copies_taken_while_writing_are_whole_and_as_the_base_once_was(tmp_path: Path, tell: Tell) -> None:
    """E24"""
    chance = random.Random(SEED)  # noqa: S311 - no secret
    moments = amount(selection=20, full=200)
    observed = []
    with open_folder() as name:
        process = WritingProcess(Path(name))
        try:
            for _ in range(moments):
                process.run_for(chance.uniform(0.002, 0.03))
                with copy_of(process.folder) as copy:
                    whole = read_whole_base(copy)
                with copy_of(process.folder) as copy:
                    damage_end_of_log(copy, flushed_log_bytes(process.folder), chance)
                    damaged = read_whole_base(copy)
                observed.append((process.acknowledged, whole, damaged))
        finally:
            process.end()

    expected = states(observed[-1][0] + 1)
    for acknowledged, whole, damaged in observed:
        # The one that was under way may be there or not.
        assert whole in expected[acknowledged : acknowledged + 2], acknowledged
        assert damaged in expected[: acknowledged + 2], acknowledged
    shorter = sum(whole != damaged for _, whole, damaged in observed)
    assert shorter > moments / 10
    tell(
        f"{2 * moments} copies while {observed[-1][0]} writes were acknowledged, {shorter} with fewer after damage to "
        "the end of the log: all whole, all a beginning of what was written"
    )
