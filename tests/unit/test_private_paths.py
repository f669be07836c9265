"""M27: the files that agents cannot read, even in folders that are open to them."""

import os
from pathlib import Path

import pytest

from kb.cli.program_options import make_mcp_options
from kb.settings import load_mcp_settings, private_paths


def test_files_of_secrets_are_private_from_any_source(tmp_path: Path) -> None:
    """M27"""
    (tmp_path / "kb.toml").write_text('api_key_file = "key"\ndata_dir = "data"', encoding="utf-8")
    environ = {"KB_API_KEY_FILE": "/other/key", "KB_MCP_API_KEY_READONLY_FILE": "~/agents", "KB_STORE_URL_FILE": "url"}

    found = set(private_paths(environ, tmp_path))

    named = {"/other/key", str(Path.home() / "agents"), os.path.abspath("url")}
    assert found == {*map(Path, named), tmp_path / "kb.toml", tmp_path / "key", tmp_path / "data"}


def test_mcp_server_keeps_private_files_from_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M27: also the data directory that a flag names."""
    key = tmp_path / "kb-key"
    key.write_text("hidden")
    monkeypatch.setenv("KB_API_KEY_FILE", str(key))

    options = make_mcp_options(load_mcp_settings(), "http://127.0.0.1:9", data_dir=tmp_path / "data")

    assert {key, tmp_path / "data"} <= set(options.private_paths)
