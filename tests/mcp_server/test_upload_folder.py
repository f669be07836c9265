import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kb.mcp.upload_folder import UnusableFolder, claim_folder, release_folder

SERVER = """
import pathlib, sys
from kb.mcp.upload_folder import claim_folder
claimed, lock = claim_folder(pathlib.Path(sys.argv[1]))
(claimed / "chunk").write_bytes(b"secret")
print(claimed, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    return tmp_path / "uploads"


@contextmanager
def server_that_is_killed(parent: Path) -> Iterator[Path]:
    """Another server, alive in the block and killed at its end; gives the folder that it has claimed."""
    command = [sys.executable, "-c", SERVER, str(parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield Path(server.stdout.readline().strip())
        server.kill()


def test_a_stopped_server_leaves_nothing(parent: Path) -> None:
    folder, lock = claim_folder(parent)
    (folder / "chunk").write_bytes(b"secret")

    release_folder(folder, lock)

    assert [path.name for path in parent.iterdir()] == ["lock"]


def test_what_a_killed_server_left_is_gone_at_the_next_start_and_not_before(parent: Path) -> None:
    """M13"""
    with server_that_is_killed(parent) as other:
        release_folder(*claim_folder(parent))
        assert (other / "chunk").exists()

    release_folder(*claim_folder(parent))

    assert not other.exists()


def test_a_folder_whose_server_died_before_it_had_a_lock_is_removed(parent: Path) -> None:
    release_folder(*claim_folder(parent))
    unlocked = parent / "upload-abc"
    unlocked.mkdir()

    release_folder(*claim_folder(parent))

    assert not unlocked.exists()


def test_nobody_else_can_enter_the_folder(parent: Path) -> None:
    folder, lock = claim_folder(parent)

    modes = [path.stat().st_mode & 0o777 for path in (parent, folder)]
    release_folder(folder, lock)

    assert modes == [0o700, 0o700]


@pytest.mark.parametrize("kind", ["link", "file", "open to others"])
def test_a_folder_that_is_not_private_is_refused(parent: Path, tmp_path: Path, kind: str) -> None:
    if kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        parent.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        parent.write_text("in the way")
    else:
        parent.mkdir()
        parent.chmod(0o755)

    with pytest.raises(UnusableFolder, match=re.escape(str(parent))):
        claim_folder(parent)
