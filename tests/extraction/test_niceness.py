"""Readers give way to searches also where the kernel shares out the processors by session, and each has its own."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

READER = (
    "import os, sys\n"
    "from pathlib import Path\n"
    "from kb.engine.ingestion.extraction.confinement import confine, give_way\n"
    "{before}confine(memory_bytes=1 << 30, cpu_seconds=10, parent=os.getppid(), file=Path('/dev/null'))\n"
    "print('confined', flush=True)\n"
    "sys.stdin.read()\n"
)
WITHIN_SECONDS = 10


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="This kernel does not schedule by session.")
@pytest.mark.parametrize("before", ["", "give_way()\n"], ids=["reader", "reader of pictures"])
def test_the_session_of_a_reader_is_as_nice_as_the_reader(before: str) -> None:
    """E4: interactive work comes first."""
    deadline = time.monotonic() + WITHIN_SECONDS
    while True:
        niceness, of_session = weigh_reader(before)
        assert niceness > os.nice(0)
        # Others on the machine may have used up how often it can be set; a reader does not wait for that.
        if niceness == of_session:
            return
        assert time.monotonic() < deadline, (niceness, of_session)


def weigh_reader(before: str) -> tuple[int, int]:
    command = [sys.executable, "-c", READER.format(before=before)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "confined\n"
        found = re.search(r"nice (-?\d+)", Path(f"/proc/{reader.pid}/autogroup").read_text())
        assert found
        return psutil.Process(reader.pid).nice(), int(found[1])
