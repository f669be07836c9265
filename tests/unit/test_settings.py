import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from kb import settings
from kb.settings import ClientSettings, EngineSettings, McpSettings, SettingsError
from kb.settings.folders import default_data_dir


def read_engine(
    config_folder: Path, environ: Mapping[str, str] = {}, flags: Mapping[str, object] = {}
) -> EngineSettings:
    return settings.read_settings(EngineSettings, flags, environ, config_folder)


def read_client(config_folder: Path, environ: Mapping[str, str] = {}) -> ClientSettings:
    return settings.read_settings(ClientSettings, {}, environ, config_folder)


def read_mcp(config_folder: Path, environ: Mapping[str, str] = {}, flags: Mapping[str, object] = {}) -> McpSettings:
    return settings.read_settings(McpSettings, flags, environ, config_folder)


def write_config(folder: Path, text: str) -> None:
    (folder / settings.CONFIG_FILE).write_text(text, encoding="utf-8")


def test_everything_has_a_default(tmp_path: Path) -> None:
    engine = read_engine(tmp_path, {"XDG_DATA_HOME": str(tmp_path)})
    client = read_client(tmp_path)

    assert (engine.host, engine.port, engine.data_dir) == ("127.0.0.1", 8000, tmp_path / "kb")
    assert engine.max_file_bytes == 104_857_600
    assert engine.api_key.get_secret_value() == ""
    assert client.engine_url == "http://127.0.0.1:8000"


def test_flags_win_over_variables_and_variables_over_the_file(tmp_path: Path) -> None:
    write_config(tmp_path, 'host = "10.0.0.1"\nport = 1\nmax_file_mb = 1')
    environ = {"KB_PORT": "2", "KB_MAX_FILE_MB": "2"}

    engine = read_engine(tmp_path, environ, {"max_file_mb": 3, "port": None})

    assert (engine.host, engine.port, engine.max_file_mb) == ("10.0.0.1", 2, 3)


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    write_config(tmp_path, "port = 8080")

    engine = read_engine(tmp_path, {"KB_PORT": " "})

    assert engine.port == 8080


def test_lists_are_separated_by_commas_or_written_as_toml_arrays(tmp_path: Path) -> None:
    write_config(tmp_path, 'allowed_hosts = ["a.example", "b.example"]')

    engine = read_engine(tmp_path, {})
    mcp = read_mcp(tmp_path, {"KB_MCP_ALLOWED_HOSTS": "a.example, b.example,"})

    assert engine.allowed_hosts == mcp.mcp_allowed_hosts == ("a.example", "b.example")


def test_origins_are_written_as_a_browser_sends_them(tmp_path: Path) -> None:
    """E30."""
    given = "https://Notes.example:443/, http://[::1]:5173, chrome-extension://abcdef"

    engine = read_engine(tmp_path, {"KB_ALLOWED_ORIGINS": given})

    assert engine.allowed_origins == ("https://notes.example", "http://[::1]:5173", "chrome-extension://abcdef")


@pytest.mark.parametrize(
    "origin",
    ["kb.example.org", "localhost:5173", "null", "*", "https://*.example", "https://a@b", "https://a/b", "h://"],
)
def test_origin_that_no_browser_sends_is_refused(tmp_path: Path, origin: str) -> None:
    """E30."""
    with pytest.raises(settings.SettingsError, match="KB_ALLOWED_ORIGINS"):
        read_engine(tmp_path, {"KB_ALLOWED_ORIGINS": origin})


def test_the_own_address_is_accepted_with_the_loopback_names(tmp_path: Path) -> None:
    engine = read_engine(tmp_path, {"KB_HOST": "192.168.1.5"})

    assert engine.accepted_hosts == ("localhost", "127.0.0.1", "[::1]", "192.168.1.5")
    assert engine.allowed_origins == ()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::1]", "localhost"])  # noqa: S104  only a value here
def test_an_address_that_names_no_new_host_adds_none(tmp_path: Path, host: str) -> None:
    engine = read_engine(tmp_path, {"KB_HOST": host})

    assert engine.accepted_hosts == settings.LOOPBACK_NAMES


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("KB_PORT", "65536", "a number from 1 to 65535"),
        ("KB_PORT", "http", "a number from 1 to 65535"),
        ("KB_HOST", "http://localhost:8000", "without a port"),
        ("KB_HOST", "localhost:8000", "without a port"),
        ("KB_MAX_FILE_MB", "0", "1 or more"),
        ("KB_INSECURE", "perhaps", "true or false"),
        ("KB_DATA_DIR", "~nobody-of-that-name/kb", "a folder"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(tmp_path: Path, variable: str, value: str, allowed: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_engine(tmp_path, {variable: value})

    assert f'{variable} is "{value}"; allowed: ' in str(caught.value)
    assert allowed in str(caught.value)


def test_every_bad_value_is_named_at_once_where_it_was_given(tmp_path: Path) -> None:
    write_config(tmp_path, "port = -1")

    with pytest.raises(SettingsError) as caught:
        read_engine(tmp_path, flags={"max_file_mb": "many"})

    assert f"`port` in {tmp_path / 'kb.toml'} is" in str(caught.value)
    assert "--max-file-mb is" in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://engine", "http://", "http://x:y", "http://x/?q=1"])
def test_an_engine_address_that_cannot_be_one_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError, match="KB_ENGINE_URL"):
        read_client(tmp_path, {"KB_ENGINE_URL": url})


def test_a_password_in_the_engine_address_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_client(tmp_path, {"KB_ENGINE_URL": "http://me:hush@engine:8000"})

    assert "hush" not in str(caught.value)


def test_port_zero_means_any_free_port(tmp_path: Path) -> None:
    assert read_engine(tmp_path, {"KB_PORT": "0"}).port == 0


def test_a_secret_is_read_from_the_file_that_is_named(tmp_path: Path) -> None:
    key_file = tmp_path / "key"
    key_file.write_text("s3cret\n", encoding="utf-8")
    write_config(tmp_path, 'api_key = "older"')

    engine = read_engine(tmp_path, {"KB_API_KEY_FILE": str(key_file)})
    client = read_client(tmp_path, {"KB_API_KEY_FILE": str(key_file)})

    assert engine.api_key.get_secret_value() == client.api_key.get_secret_value() == "s3cret"


def test_a_secret_given_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Both KB_API_KEY and KB_API_KEY_FILE"):
        read_engine(tmp_path, {"KB_API_KEY": "one", "KB_API_KEY_FILE": "two"})


@pytest.mark.parametrize(("content", "complaint"), [(b" \n", "is empty"), (b"\xff\xfe", "is not text")])
def test_a_key_file_without_a_key_is_an_error(tmp_path: Path, content: bytes, complaint: str) -> None:
    key_file = tmp_path / "key"
    key_file.write_bytes(content)

    with pytest.raises(SettingsError, match=complaint):
        read_engine(tmp_path, {"KB_API_KEY_FILE": str(key_file)})


@pytest.mark.parametrize("file", ["/nowhere/key", "~nobody-of-that-name/key", "zero\0byte"])
def test_a_missing_key_file_is_an_error_and_not_an_open_engine(tmp_path: Path, file: str) -> None:
    with pytest.raises(SettingsError, match=r"KB_API_KEY_FILE names .*, which (cannot be read|is not text)"):
        read_engine(tmp_path, {"KB_API_KEY_FILE": file})


def test_no_secret_is_ever_shown(tmp_path: Path) -> None:
    engine = read_engine(tmp_path, {"KB_API_KEY": "hush-hush"})
    with pytest.raises(SettingsError) as caught:
        read_engine(tmp_path, {"KB_API_KEY": "hush hush"})

    assert "hush" not in f"{engine} {engine!r} {caught.value}"
    assert caught.value.__cause__ is None
    assert "The value of KB_API_KEY cannot be used" in str(caught.value)


@pytest.mark.parametrize("key", [{}, {"KB_API_KEY": "same"}])
def test_a_read_only_key_that_would_limit_nobody_is_an_error(tmp_path: Path, key: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="KB_API_KEY_READONLY"):
        read_engine(tmp_path, {"KB_API_KEY_READONLY": "same", **key})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "kb.example"])  # noqa: S104  only a value here
def test_listening_for_other_machines_without_a_key_is_refused(tmp_path: Path, host: str) -> None:
    engine = read_engine(tmp_path, {"KB_HOST": host})

    with pytest.raises(SettingsError, match=r"KB_API_KEY.*KB_INSECURE=true"):
        engine.refuse_public_without_key()


@pytest.mark.parametrize(
    "environ",
    [
        {"KB_HOST": "127.0.0.2"},
        {"KB_HOST": "::1"},
        {"KB_HOST": "localhost"},
        {"KB_HOST": "192.168.1.5", "KB_API_KEY": "k"},
        {"KB_HOST": "192.168.1.5", "KB_INSECURE": "true"},
    ],
)
def test_listening_on_loopback_or_with_a_key_or_on_demand_is_fine(tmp_path: Path, environ: dict[str, str]) -> None:
    read_engine(tmp_path, environ).refuse_public_without_key()


def test_a_mistyped_name_is_reported_with_the_nearest_real_one(tmp_path: Path) -> None:
    write_config(tmp_path, 'hots = "x"')

    sentences = settings.find_unknown_names(
        {"KB_PROT": "1", "KB_QQ": "1", "KB_API_KEY_FILE": "x", "PATH": ""}, tmp_path
    )

    assert sentences == [
        "KB_PROT is not a setting of kb and has no effect. Did you mean KB_PORT?",
        "KB_QQ is not a setting of kb and has no effect.",
        f"{tmp_path / 'kb.toml'}: hots is not a setting of kb and has no effect. Did you mean host?",
    ]


def test_a_config_file_that_is_not_toml_is_named_with_the_line(tmp_path: Path) -> None:
    write_config(tmp_path, "port = \n")

    with pytest.raises(SettingsError, match=r"kb\.toml is not a TOML file: .*line 1"):
        read_engine(tmp_path)


def test_folders_follow_the_platform_and_ignore_relative_paths(tmp_path: Path) -> None:
    home = Path.home()
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": "relative"}

    assert settings.config_dir(environ, "linux") == tmp_path / "kb"
    assert settings.config_dir({}, "linux") == home / ".config/kb"
    assert settings.config_dir({}, "darwin") == home / "Library/Application Support/kb"
    assert settings.config_dir({"APPDATA": str(tmp_path)}, "win32") == tmp_path / "kb"
    assert default_data_dir(environ, "linux") == home / ".local/share/kb"
    assert settings.cache_dir({}) == home / ".cache/kb"


def test_a_user_without_a_home_can_name_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", find_none)

    assert settings.load_engine_settings({"data_dir": str(tmp_path)}).data_dir == tmp_path
    assert settings.config_dir({"XDG_CONFIG_HOME": str(tmp_path)}, "linux") == tmp_path / "kb"
    assert settings.cache_dir({}).is_absolute()


def test_a_model_is_the_bundled_one_a_folder_or_one_that_was_fetched(tmp_path: Path) -> None:
    assert settings.model_folder("", tmp_path) is None
    assert settings.model_folder("/models/own", tmp_path) == Path("/models/own")
    assert settings.model_folder("some-model", tmp_path) == tmp_path / "models" / "some-model"


def test_settings_cannot_be_changed_after_they_were_read(tmp_path: Path) -> None:
    engine = read_engine(tmp_path)

    with pytest.raises(ValidationError):
        engine.port = 1


def test_every_option_is_described_once_with_its_programs() -> None:
    described = {option.variable: option for option in settings.describe_options()}

    assert described["KB_API_KEY"].programs == ("engine", "mcp", "client")
    assert described["KB_ALLOWED_HOSTS"].default == "`localhost,127.0.0.1,[::1]`"
    assert described["KB_INSECURE"].default == "`false`"
    assert all(option.meaning and option.allowed for option in described.values())


def test_the_programs_read_the_environment_they_run_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("KB_PORT", "8080")
    monkeypatch.setenv("KB_ENGINE_URL", "http://engine:8000/")

    assert settings.load_engine_settings({"port": None}).port == 8080
    assert settings.load_client_settings().engine_url == "http://engine:8000"


def test_the_mcp_server_has_keys_names_and_an_address_of_its_own(tmp_path: Path) -> None:
    environ = {"KB_MCP_API_KEY": "agents", "KB_API_KEY": "engines", "KB_MCP_HOST": "10.0.0.7", "KB_HOST": "10.0.0.8"}

    mcp = read_mcp(tmp_path, environ)

    assert (mcp.mcp_api_key.get_secret_value(), mcp.api_key.get_secret_value()) == ("agents", "engines")
    assert mcp.accepted_hosts == (*settings.LOOPBACK_NAMES, "10.0.0.7")
    assert (mcp.mcp_port, mcp.mcp_toolsets, mcp.mcp_upload_ttl_seconds) == (3000, ("kb", "knowledge"), 600)
    assert mcp.mcp_collections == ("documents", "memory", "workspace")


def test_the_folders_of_files_are_separated_as_paths_are_or_written_as_toml_arrays(tmp_path: Path) -> None:
    """M16."""
    write_config(tmp_path, 'mcp_file_roots = ["/a", "~/b"]')

    given = read_mcp(tmp_path, {"KB_MCP_FILE_ROOTS": f"/papers, old{os.pathsep} ~/books{os.pathsep}"})

    assert given.mcp_file_roots == (Path("/papers, old"), Path.home() / "books")
    assert read_mcp(tmp_path).mcp_file_roots == (Path("/a"), Path.home() / "b")


def test_folders_of_files_that_name_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="KB_MCP_FILE_ROOTS is"):
        read_mcp(tmp_path, {"KB_MCP_FILE_ROOTS": os.pathsep})


def test_a_working_directory_that_was_deleted_has_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert read_mcp(tmp_path).mcp_file_roots == (Path.home(),)


@pytest.mark.parametrize(
    ("folder", "roots"), [("work", ["home", "work"]), ("/", ["home"]), (".config/service", ["home"])]
)
def test_by_default_files_are_those_of_the_home_and_of_the_working_directory_if_somebody_chose_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, roots: list[str]
) -> None:
    """M16."""
    for one in ("home", folder):
        (tmp_path / one).mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / folder)

    assert read_mcp(tmp_path).mcp_file_roots == tuple(tmp_path / root for root in roots)


def test_the_mcp_server_refuses_a_public_address_without_a_key(tmp_path: Path) -> None:
    """M2."""
    with pytest.raises(SettingsError, match=r"KB_MCP_HOST is 192\.0\.2\.4.*Set KB_MCP_API_KEY"):
        read_mcp(tmp_path, {"KB_MCP_HOST": "192.0.2.4", "KB_API_KEY": "engines"}).refuse_public_without_key()

    read_mcp(tmp_path, {"KB_MCP_HOST": "192.0.2.4", "KB_MCP_API_KEY": "agents"}).refuse_public_without_key()
    read_mcp(tmp_path, {"KB_MCP_HOST": "192.0.2.4", "KB_INSECURE": "true"}).refuse_public_without_key()


@pytest.mark.parametrize("toolsets", ["kb,kb-collections", "kb,tools", ","])
def test_toolsets_are_known_ones_and_the_two_of_kb_exclude_each_other(tmp_path: Path, toolsets: str) -> None:
    with pytest.raises(SettingsError, match="KB_MCP_TOOLSETS"):
        read_mcp(tmp_path, {"KB_MCP_TOOLSETS": toolsets})


@pytest.mark.parametrize("collections", [",", "a:b", "x" * 101])
def test_a_collection_has_a_short_name_without_a_colon(tmp_path: Path, collections: str) -> None:
    with pytest.raises(SettingsError, match="KB_MCP_COLLECTIONS"):
        read_mcp(tmp_path, {"KB_MCP_COLLECTIONS": collections})


def test_a_flag_of_the_mcp_server_is_named_as_the_user_typed_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match='--host is "a b"'):
        read_mcp(tmp_path, flags={"mcp_host": "a b"})


def test_originals_are_in_the_data_directory_or_in_a_bucket(tmp_path: Path) -> None:
    assert read_engine(tmp_path).originals_url == ""
    assert read_engine(tmp_path, {"KB_ORIGINALS_URL": "s3://a-bucket/some/prefix/"}).originals_url == (
        "s3://a-bucket/some/prefix"
    )


@pytest.mark.parametrize(
    "url", ["a-bucket", "https://a-bucket", "s3://", "s3://ab", "s3://A_B_C", "s3://key:secret@bucket", "s3://abc/../d"]
)
def test_what_is_no_place_in_a_bucket_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(
        SettingsError, match=r"KB_ORIGINALS_URL is .*; allowed: s3://BUCKET or s3://BUCKET/PREFIX"
    ) as told:
        read_engine(tmp_path, {"KB_ORIGINALS_URL": url})

    assert "secret" not in str(told.value)


def test_a_key_to_a_bucket_has_two_parts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Set both, or none"):
        read_engine(tmp_path, {"KB_S3_ACCESS_KEY": "a-name"})


def test_a_key_to_a_bucket_can_stand_in_files_and_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "name").write_text("a-name\n")
    (tmp_path / "secret").write_text("hush\n")
    environ = {"KB_S3_ACCESS_KEY_FILE": str(tmp_path / "name"), "KB_S3_SECRET_KEY_FILE": str(tmp_path / "secret")}

    engine = read_engine(tmp_path, environ)

    assert (engine.s3_access_key.get_secret_value(), engine.s3_secret_key.get_secret_value()) == ("a-name", "hush")
    assert "hush" not in repr(engine)
    assert "a-name" not in repr(engine)
