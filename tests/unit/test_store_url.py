"""Where a shared base is, and that nobody is told its password."""

import re
from pathlib import Path

import pytest

from kb.engine.wiring import EngineOptions
from kb.settings import EngineSettings, SettingsError, read_settings


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://kb:sec/ret@db/kb",
        "postgresql://kb:sec@ret@db/kb",
        "postgresql://kb:sec ret@db/kb",
        "postgresql://kb:secret@db",
        "postgresql://kb:sec/ret?more@db/kb",
        "postgresql://kb:sec/ret#more@db/kb",
        "postgresql://kb@db:secret/kb",
        "mysql://kb:secret@db/kb",
    ],
)
def test_an_address_of_a_database_that_can_be_misread_is_refused_and_not_told(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError, match="KB_STORE_URL") as refused:
        read_settings(EngineSettings, {}, {"KB_STORE_URL": url}, tmp_path)

    assert not re.search("sec.?ret", str(refused.value))


@pytest.mark.parametrize("endpoint", ["https://kb:secret@objects", "https://objects/?key=secret", "//objects?secret"])
def test_a_refused_address_of_an_s3_server_shows_no_key(tmp_path: Path, endpoint: str) -> None:
    """I9"""
    with pytest.raises(SettingsError, match="KB_S3_ENDPOINT") as refused:
        read_settings(EngineSettings, {}, {"KB_S3_ENDPOINT": endpoint}, tmp_path)

    assert "secret" not in str(refused.value)


def test_where_the_base_is_is_told_without_the_password() -> None:
    url = "postgresql://kb:s%40cret@db.example:5433,other:5432/kb?sslmode=verify-full&password=s%40cret"

    options = EngineOptions(Path("data"), Path("model"), Path("graphs"), max_file_bytes=1, store_url=url)

    assert options.place == "postgresql://db.example:5433,other:5432/kb"
    assert "cret" not in repr(options)
