"""Who else has an account on the machine reads nothing of a base."""

import stat
from pathlib import Path

import httpx
import pytest
from tests.engine_program import EngineProgram

FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def readable_by_others(folder: Path) -> list[str]:
    """Folders, and files with something in them; locks are empty."""
    paths = [path for path in folder.rglob("*") if path.stat().st_size]
    assert any(path.is_file() for path in paths)
    return [str(path.relative_to(folder)) for path in paths if path.stat().st_mode & FOR_OTHERS]


@pytest.fixture
def engine(running_engine: EngineProgram) -> EngineProgram:
    """With an original."""
    answer = httpx.post(f"{running_engine.url}/api/v1/jobs", files={"file": ("fees.txt", b"Nine a month")})
    assert answer.status_code == 202
    return running_engine


def test_what_the_engine_keeps_is_for_its_user_alone(engine: EngineProgram) -> None:
    """E1"""
    assert readable_by_others(engine.data_dir) == []
    assert not engine.data_dir.stat().st_mode & FOR_OTHERS


def test_only_the_user_can_read_a_backup_and_a_restored_base(engine: EngineProgram, tmp_path: Path) -> None:
    """E1, E31: also a copy of the backup in another folder, and a base that is restored to a public folder."""
    backup, restored = tmp_path / "backup", tmp_path / "restored"
    restored.mkdir(mode=0o755)

    for arguments in (("backup", str(backup)), ("restore", str(backup), "--data-dir", str(restored), "--yes")):
        assert engine.run_kb(*arguments).returncode == 0

    assert (readable_by_others(backup), readable_by_others(restored)) == ([], [])
    assert not backup.stat().st_mode & FOR_OTHERS
