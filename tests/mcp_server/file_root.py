"""Folders of which one is open to agents, and a file read in it or refused."""

import os
from pathlib import Path

import pytest
from pydantic_core import to_json

from kb.mcp.errors import ToolError
from kb.mcp.file_roots import FileRoots

GOOD, SECRET = b"for everybody", b"for nobody"
CODES = ("path_not_allowed", "file_not_found", "file_not_readable")

FILES = {
    GOOD: ("open/a.txt", "open/sub/a.txt"),
    SECRET: ("open/.hidden/a.txt", "closed/a.txt", "closed/sub/a.txt", "open-too/a.txt"),
}
LINKS = """
    open/chain>chain2 open/chain2>sub/chain3 open/sub/chain3>../a.txt open/circle>sub/circle open/sub/circle>../circle
    open/dangling>sub/none open/out>../closed open/out-file>../closed/a.txt open/out-dangling>../closed/none
    open/environ>/proc/self/environ open/out-by-proc>/proc/self/cwd/../closed/a.txt open/zero>/dev/zero
    open/shown>.hidden open/shown-file>.hidden/a.txt open/shown-dangling>.hidden/none
    closed/in>../open/sub closed/elsewhere>/usr/bin
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder `open`, where we are and whose files may be read."""
    for content, places in FILES.items():
        for place in places:
            (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place).write_bytes(content)
    for place, target in (link.split(">") for link in LINKS.split()):
        (tmp_path / place).symlink_to(target)
    os.mkfifo(tmp_path / "open/pipe")
    monkeypatch.chdir(tmp_path / "open")
    return tmp_path / "open"


def read(path: Path | str, *roots: Path) -> bytes:
    with FileRoots(roots).open_file(str(path)) as opened:
        content = opened.content.read()
        assert opened.size_bytes == len(content)
    return content


def refuse(path: Path | str, *roots: Path) -> ToolError:
    """The error, after a look at what it says and at what it leaves open."""
    os.close(free_before := os.dup(1))
    with pytest.raises(ToolError) as caught, FileRoots(roots).open_file(str(path)):
        pass
    os.close(free_after := os.dup(1))
    assert free_after == free_before
    assert caught.value.code in CODES
    assert set(caught.value.details) == {"file_path"}
    assert len(to_json(caught.value.as_answer())) < 10_000
    return caught.value
