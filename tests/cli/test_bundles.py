"""E21 at the command line: `kb export` and `kb import`."""

import json
import os
import pty
import stat
import subprocess
from pathlib import Path

import pytest
from tests.bundles import hash_of, list_members, pack, portable_note
from tests.cli.conftest import Kb
from tests.engine_program import EngineProgram, kb_command, own_environment

from kb.engine.bundles.writing import begin_bundle


@pytest.fixture
def bundle(kb: Kb, tmp_path: Path) -> Path:
    kb("addnote", "The lighthouse keeper has a parrot")
    file = tmp_path / "base.tar"
    assert kb("export", str(file)).exit_code == 0
    return file


def test_e21_a_bundle_goes_through_a_pipe_from_engine_to_engine(
    kb: Kb, running_engine: EngineProgram, locked_engine: EngineProgram, tmp_path: Path
) -> None:
    kb("addnote", "The lighthouse keeper has a parrot")
    kb("add", "-", "--name", "x.txt", stdin="x" * 1000)
    source = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})
    target = own_environment(tmp_path, {"KB_ENGINE_URL": locked_engine.url, "KB_API_KEY": "secret"})

    with subprocess.Popen(kb_command("export", "-"), env=source, stdout=subprocess.PIPE) as exporting:
        importing = subprocess.run(
            kb_command("import", "-", "--json"), env=target, stdin=exporting.stdout, capture_output=True, check=False
        )

    assert (exporting.returncode, importing.returncode) == (0, 0), importing.stderr
    assert json.loads(importing.stdout)["documents_added"] >= 2
    assert kb("export", "-", KB_ENGINE_URL=locked_engine.url, KB_API_KEY="secret").exit_code == 0


def test_only_the_user_can_read_an_exported_bundle(bundle: Path) -> None:
    """E21."""
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600


def test_e21_a_file_is_exported_whole_and_imported_any_number_of_times(kb: Kb, bundle: Path) -> None:
    result = kb("import", str(bundle))

    assert result.exit_code == 0
    assert "Imported 0 documents (0 replaced, " in result.stdout
    assert list_members(bundle.read_bytes())[-1] == "end.json"
    assert [path.name for path in bundle.parent.glob("base*")] == ["base.tar"]


def test_e21_standard_output_is_the_bundle_and_nothing_else(kb: Kb, bundle: Path) -> None:
    result = kb("export", "-")

    assert hash_of(result.stdout_bytes) == hash_of(bundle.read_bytes())
    assert "Exported" in result.stderr


def test_e21_a_file_that_is_there_is_replaced_only_by_force(kb: Kb, tmp_path: Path) -> None:
    file = tmp_path / "base.tar"
    file.write_text("mine")

    refused = kb("export", str(file))
    kept = file.read_text()
    forced = kb("export", str(file), "--force")

    assert (refused.exit_code, kept) == (4, "mine")
    assert "--force" in refused.stderr
    assert forced.exit_code == 0
    assert list_members(file.read_bytes())[0] == "bundle.json"


def test_e21_a_failed_export_leaves_no_file(kb: Kb, tmp_path: Path) -> None:
    result = kb("export", str(tmp_path / "base.tar"), KB_ENGINE_URL="http://127.0.0.1:1")

    assert result.exit_code == 6
    assert list(tmp_path.glob("base*")) == []


def test_e21_a_place_that_cannot_be_written_is_told_plainly(kb: Kb, tmp_path: Path) -> None:
    result = kb("export", str(tmp_path / "nowhere" / "base.tar"))

    assert result.exit_code == 1
    assert "cannot be written: No such file" in result.stderr


def test_e21_a_wrong_bundle_is_told_even_if_most_of_it_is_still_to_be_sent(kb: Kb, tmp_path: Path) -> None:
    file = tmp_path / "wrong.tar"
    file.write_bytes(begin_bundle() + b"?" * 30_000_000)

    result = kb("import", str(file))

    assert result.exit_code == 4
    assert "The bundle is damaged" in result.stderr
    assert "Documents imported before that: 0." in result.stderr


def test_e21_what_is_not_a_bundle_is_exit_code_4(kb: Kb) -> None:
    result = kb("import", "-", stdin=b"hello")

    assert result.exit_code == 4
    assert "not a bundle" in result.stderr


def test_e21_a_missing_bundle_is_exit_code_3(kb: Kb, tmp_path: Path) -> None:
    result = kb("import", str(tmp_path / "none.tar"))

    assert result.exit_code == 3


def test_e21_who_may_only_read_exports_and_does_not_import(kb: Kb, locked_engine: EngineProgram) -> None:
    reader = {"KB_ENGINE_URL": locked_engine.url, "KB_API_KEY": "reader"}

    exported = kb("export", "-", **reader)
    imported = kb("import", "-", stdin=exported.stdout_bytes, **reader)

    assert (exported.exit_code, imported.exit_code) == (0, 5)


def test_e28_vectors_that_must_be_made_anew_are_told(kb: Kb) -> None:
    result = kb("import", "-", stdin=pack([portable_note(vector_model="another")]))

    assert result.exit_code == 0
    assert "Imported 1 document (" in result.stdout
    assert "another model" in result.stderr


def test_e21_a_bundle_is_not_for_the_terminal(running_engine: EngineProgram, tmp_path: Path) -> None:
    terminal, person = pty.openpty()
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})

    exported = subprocess.run(
        kb_command("export", "-"), env=environment, stdout=person, stderr=subprocess.PIPE, check=False
    )
    imported = subprocess.run(
        kb_command("import", "-"), env=environment, stdin=person, stderr=subprocess.PIPE, check=False
    )
    os.close(person)
    os.close(terminal)

    assert (exported.returncode, imported.returncode) == (2, 2)
    assert b"not for the terminal" in exported.stderr
    assert b"There is no bundle" in imported.stderr
