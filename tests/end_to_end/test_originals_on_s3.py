"""The programs with originals on an S3 server: engine and worker are told of it, and keys stay with them."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.engine_program import EngineProgram
from tests.pdf_files import make_text_pdf
from tests.servers.seaweedfs import SECRET_KEY, SeaweedFs


@pytest.fixture
def program(model_folder: Path, tmp_path: Path, seaweedfs: SeaweedFs) -> Iterator[EngineProgram]:
    bucket = seaweedfs.new_place()
    settings = {
        "KB_ORIGINALS_URL": bucket.url,
        "KB_S3_ENDPOINT": seaweedfs.endpoint,
        "KB_S3_ACCESS_KEY": bucket.access_key,
        "KB_S3_SECRET_KEY": bucket.secret_key,
    }
    with EngineProgram(tmp_path, settings).running() as program:
        yield program


def test_a_file_lives_on_the_server_through_a_restart(program: EngineProgram, tmp_path: Path) -> None:
    (tmp_path / "animals.pdf").write_bytes(make_text_pdf(["The walrus rests on the ice."]))

    added = program.run_kb("add", str(tmp_path / "animals.pdf"))
    program.kill()
    program.start()
    bundle = program.run_kb("export", str(tmp_path / "bundle.tar"))
    commands = [" ".join(one.cmdline()) for one in psutil.Process(program.process.pid).children(recursive=True)]
    exit_code = program.stop()

    assert added.returncode == 0, added.stderr
    assert bundle.returncode == 0, bundle.stderr
    assert exit_code == 0
    # Of the engine that was killed nothing is left either.
    assert [path.name for path in (program.data_dir / "transit").iterdir()] == ["lock"]
    assert SECRET_KEY not in program.log.read_text()
    assert len(commands) > 1
    assert not any(SECRET_KEY in command for command in commands)
    _assert_commands_without_engine_know_where_they_are(program, tmp_path)


def _assert_commands_without_engine_know_where_they_are(program: EngineProgram, tmp_path: Path) -> None:
    backup = program.run_kb("backup", str(tmp_path / "backup"))
    doctor = program.run_kb("doctor")
    refused = program.run_kb("engine", "--port", "0", settings={"KB_S3_SECRET_KEY": "another"})

    assert backup.returncode == 4
    assert "kb export" in backup.stderr
    assert "s3://" in doctor.stdout
    assert refused.returncode == 1
    assert "KB_S3_ACCESS_KEY" in refused.stderr
    assert "Traceback" not in refused.stderr
