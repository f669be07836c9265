"""What the figures were measured on, in a sentence, and which versions of what."""

import os
import platform
import subprocess
from pathlib import Path

import psutil

PACKAGES = ("sqlite-vec", "apsw", "chromadb", "lancedb", "txtai", "faiss-cpu")


def describe_machine(peers_python: Path) -> str:
    memory = psutil.virtual_memory().total / 2**30
    busy = os.getloadavg()[0]
    return (
        f"Machine: {os.cpu_count()} cores of {read_processor()}, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}; {busy:.1f} processes wanted a core when it began. "
        f"Peers: {read_versions(peers_python)}."
    )


def read_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def read_versions(peers_python: Path) -> str:
    code = f"from importlib.metadata import version; print(*(f'{{n}} {{version(n)}}' for n in {PACKAGES!r}), sep=', ')"
    told = subprocess.run([str(peers_python), "-c", code], capture_output=True, text=True, check=True)
    return told.stdout.strip()
