"""Paths in `kb.toml`: relative ones, lists of them, and what looks like one."""

from pathlib import Path

import pytest

from kb.settings import EngineSettings, McpSettings, read_settings


def test_relative_paths_in_the_file_count_from_its_folder_wherever_a_program_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ['data_dir = "base"', 'api_key_file = "key"', 'embedding_model = "./model"', 'mcp_file_roots = "~/a:b"']
    (tmp_path / "kb.toml").write_text("\n".join(lines))
    (tmp_path / "key").write_text("sesame")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    engine, mcp = read_settings(EngineSettings, {}, {}, tmp_path), read_settings(McpSettings, {}, {}, tmp_path)

    assert (engine.data_dir, engine.api_key.get_secret_value()) == (tmp_path / "base", "sesame")
    assert engine.embedding_model == str(tmp_path / "model")
    assert mcp.mcp_file_roots == (Path.home() / "a", tmp_path / "b")
    assert read_settings(EngineSettings, {}, {"KB_DATA_DIR": "base"}, tmp_path).data_dir == elsewhere / "base"


def test_a_folder_in_an_array_is_whole_and_one_of_a_model_is_told_from_a_name(tmp_path: Path) -> None:
    (tmp_path / "kb.toml").write_text('embedding_model = "models/x"\nmcp_file_roots = ["/srv/a:b", "c"]')

    engine, mcp = read_settings(EngineSettings, {}, {}, tmp_path), read_settings(McpSettings, {}, {}, tmp_path)

    assert engine.embedding_model == str(tmp_path / "models" / "x")
    assert mcp.mcp_file_roots == (Path("/srv/a:b"), tmp_path / "c")
