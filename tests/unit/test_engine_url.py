"""C6: the address at which clients call the engine if no setting names it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kb.settings import CONFIG_FILE, ClientSettings, McpSettings, SettingsError, read_settings


@pytest.mark.parametrize(
    ("environ", "toml", "url"),
    [
        ({"KB_PORT": "8400"}, "", "http://127.0.0.1:8400"),
        ({}, "port = 8400", "http://127.0.0.1:8400"),
        ({"KB_PORT": "8401"}, "port = 8400", "http://127.0.0.1:8401"),
        ({"KB_HOST": "0.0.0.0"}, "port = 8400", "http://127.0.0.1:8400"),  # noqa: S104  only a value here
        ({"KB_HOST": "::"}, "", "http://127.0.0.1:8000"),
        ({"KB_HOST": "[::1]"}, "", "http://[::1]:8000"),
        ({"KB_HOST": "kb.example"}, "", "http://kb.example:8000"),
        ({"KB_PORT": "0"}, "", "http://127.0.0.1:8000"),
        ({"KB_PORT": "8400"}, 'engine_url = "http://engine:1"', "http://engine:1"),
        ({"KB_PORT": "many", "KB_ENGINE_URL": "http://engine:1"}, "", "http://engine:1"),
    ],
)
def test_clients_use_the_address_of_an_engine_with_the_same_settings(
    tmp_path: Path, environ: Mapping[str, str], toml: str, url: str
) -> None:
    """C6"""
    (tmp_path / CONFIG_FILE).write_text(toml, encoding="utf-8")

    assert read_settings(ClientSettings, {}, environ, tmp_path).engine_url == url
    assert read_settings(McpSettings, {}, environ, tmp_path).engine_url == url


@pytest.mark.parametrize(("variable", "value"), [("KB_PORT", "many"), ("KB_PORT", "65536"), ("KB_HOST", "http://x")])
def test_without_a_usable_address_of_the_engine_there_is_no_default(tmp_path: Path, variable: str, value: str) -> None:
    """C6"""
    with pytest.raises(SettingsError, match=f'^{variable} is "{value}"; allowed: '):
        read_settings(ClientSettings, {}, {variable: value}, tmp_path)
