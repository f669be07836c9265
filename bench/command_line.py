"""What a command costs before it does anything, and what following a folder costs when little has changed.

    python -m bench.command_line [FILES]

Starts are interleaved, and the best of each counts: whatever else the machine does only ever adds.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.engine_program import EngineProgram, kb_command, own_environment

ROUNDS = 7
STARTS = {
    "python alone": [sys.executable, "-c", "pass"],
    "python with typer": [sys.executable, "-c", "import typer"],
    "kb --help": kb_command("--help"),
    "kb search --help": kb_command("search", "--help"),
    "kb search": kb_command("search", "number seven"),
    "kb completion of a tag": kb_command("completion", "bash", "--", "kb", "list", "--tag", ""),
}


def spend(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds on the clock and of the processor."""
    before, began = os.times(), time.monotonic()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - began, cpu


def measure_starts(environment: dict[str, str]) -> None:
    spent: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(ROUNDS):
        for name, command in STARTS.items():
            spent[name].append(spend(command, environment)[1])
    for name, seconds in spent.items():
        print(f"{name:<28} {min(seconds) * 1000:6.0f} ms of CPU")


def measure_sync(folder: Path, environment: dict[str, str], files: int) -> None:
    for number in range(files):
        place = folder / f"folder {number % 10}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.md").write_text(f"# Number {number}\n\nThis is text number {number} of {files}.")
    sync = kb_command("sync", str(folder), "--yes")
    print(f"{'sync, all new':<28} {tell(spend(sync, environment))}")
    print(f"{'sync, nothing new':<28} {tell(spend(sync, environment))}")
    (folder / "folder 3").rename(folder / "folder three")
    print(f"{'sync, a tenth renamed':<28} {tell(spend(sync, environment))}")
    shutil.rmtree(folder / "folder 4")
    print(f"{'sync, a tenth deleted':<28} {tell(spend(sync, environment))}")


def tell(spent: tuple[float, float]) -> str:
    return f"{spent[0]:6.1f} s, {spent[1]:5.1f} s of CPU in the client"


def main(files: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        engine = EngineProgram(Path(scratch))
        engine.start()
        environment = own_environment(Path(scratch), {"KB_ENGINE_URL": engine.url})
        try:
            print(f"{files} files, {os.cpu_count()} cores")
            measure_sync(Path(scratch, "folder"), environment, files)
            measure_starts(environment)
        finally:
            engine.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
