"""Where each setting comes from."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.settings import EngineSettings, SettingsError, describe_options, read_settings
from kb.settings.explaining import Explained, Explanation, explain_settings
from kb.settings.programs import PROGRAMS
from kb.settings.sources import Origin


def explain(folder: Path, toml: str = "", **environ: str) -> Explanation:
    (folder / "kb.toml").write_text(toml)
    return explain_settings({"HOME": str(folder), **environ}, folder)


def option(explanation: Explanation, name: str) -> Explained:
    found = explanation.find(name)
    assert found is not None
    return found


def test_every_option_of_every_program_is_explained(tmp_path: Path) -> None:
    explanation = explain(tmp_path)

    assert [one.variable for one in explanation.options] == [one.variable for one in describe_options()]
    assert {one.origin for one in explanation.options} == {Origin.DEFAULT}
    assert explanation.problems == []


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    explanation = explain(tmp_path, "port = 8123\nmcp_port = 3123", KB_PORT="8124")

    port, mcp_port, host = (option(explanation, name) for name in ("port", "mcp_port", "host"))
    assert (port.value, port.origin, port.given_by) == ("8124", Origin.ENVIRONMENT, "KB_PORT")
    assert (mcp_port.value, mcp_port.origin) == ("3123", Origin.FILE)
    assert mcp_port.given_by == f"mcp_port in {tmp_path / 'kb.toml'}"
    assert (host.value, host.origin, host.given_by) == ("127.0.0.1", Origin.DEFAULT, None)


def test_derived_address_of_the_engine_is_shown(tmp_path: Path) -> None:
    """C6"""
    url = option(explain(tmp_path, "port = 8123", KB_HOST="::1"), "engine_url")

    assert (url.value, url.origin, url.given_by) == ("http://[::1]:8123", Origin.DEFAULT, None)


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    assert option(explain(tmp_path, KB_PORT=" "), "port").origin is Origin.DEFAULT


def test_of_a_secret_only_is_told_whether_it_is_set(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hidden-2\n")
    explanation = explain(tmp_path, "", KB_API_KEY="hidden-1", KB_MCP_API_KEY_FILE=str(tmp_path / "key"))

    assert option(explanation, "api_key").value == "set"
    assert option(explanation, "mcp_api_key").value == "set"
    assert option(explanation, "mcp_api_key").given_by == "KB_MCP_API_KEY_FILE"
    assert option(explanation, "mcp_api_key").secret_file == tmp_path / "key"
    assert option(explanation, "mcp_api_key_readonly").value == "not set"
    assert "hidden" not in repr(explanation)


def test_a_wrong_value_is_told_with_the_reason_and_the_others_still_are(tmp_path: Path) -> None:
    explanation = explain(tmp_path, "", KB_PORT="99999", KB_MAX_FILE_MB="7")

    port = option(explanation, "port")
    assert port.value == "99999"
    assert port.problem is not None
    assert port.problem.startswith('KB_PORT is "99999"; allowed: ')
    assert option(explanation, "max_file_mb").value == "7"
    assert explanation.problems == [port.problem]


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"KB_API_KEY": "ä b"}, "The value of KB_API_KEY cannot be used"),
        ({"KB_API_KEY_FILE": __file__}, "The value of KB_API_KEY_FILE cannot be used"),
        ({"KB_API_KEY_FILE": "/nowhere/key"}, "KB_API_KEY_FILE names /nowhere/key, which cannot be read"),
        ({"KB_API_KEY_READONLY": "x"}, "KB_API_KEY_READONLY needs KB_API_KEY"),
    ],
)
def test_a_secret_that_cannot_be_used_is_told_without_showing_it(
    tmp_path: Path, environ: dict[str, str], told: str
) -> None:
    problems = explain(tmp_path, "", **environ).problems

    assert len(problems) == 1
    assert problems[0].startswith(told)
    assert "ä" not in problems[0]


def test_a_secret_that_is_given_in_two_ways_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hidden")

    problems = explain(tmp_path, "", KB_API_KEY="hidden", KB_API_KEY_FILE=str(tmp_path / "key")).problems

    assert problems == ["Both KB_API_KEY and KB_API_KEY_FILE are set. Set one of them."]


def test_a_file_that_is_no_toml_is_a_problem_and_the_environment_is_still_shown(tmp_path: Path) -> None:
    explanation = explain(tmp_path, "port = ", KB_PORT="8124")

    assert "is not a TOML file" in explanation.problems[0]
    assert option(explanation, "port").value == "8124"


@pytest.mark.parametrize(
    "url",
    [
        *("http://me:hidden@host:1", "http://me:a/hidden@host", "http://me:a hidden@host", "http://me:@hidden@host"),
        *("https:/me:hidden@host", "me:hidden@host", "http://host?key=hidden", "http://host/#hidden"),
    ],
)
def test_a_password_in_a_wrong_address_is_not_shown(tmp_path: Path, url: str) -> None:
    explanation = explain(tmp_path, "", KB_ENGINE_URL=url)

    assert explanation.problems
    assert "hidden" not in repr(explanation)


def test_key_in_place_of_its_file_is_not_shown(tmp_path: Path) -> None:
    """E2"""
    problems = explain(tmp_path, "", KB_API_KEY_FILE="hidden").problems

    assert problems[0].startswith("KB_API_KEY_FILE names a file that is not there")
    assert "hidden" not in " ".join(problems)


@pytest.mark.parametrize("name", ["max_file_mb", "KB_MAX_FILE_MB", "--max-file-mb", "Max-File-MB"])
def test_an_option_is_found_by_each_of_its_names(tmp_path: Path, name: str) -> None:
    assert option(explain(tmp_path), name).name == "max_file_mb"


VALUES = st.sampled_from(
    ["", "1", "0", "99999", "true", "no", "a,b", "http://x:1", "ftp://x", "kb", "/srv", "ä", "text", "x,y", "new\nline"]
)
NAMES = [one.variable for one in describe_options()]


@given(st.dictionaries(st.sampled_from([*NAMES, "KB_API_KEY_FILE", "KB_MCP_API_KEY_FILE"]), VALUES, max_size=6))
def test_the_problems_are_those_for_which_some_program_would_not_start(environ: dict[str, str]) -> None:
    folder = Path("/nowhere")
    refusals: set[str] = set()
    for program in PROGRAMS:
        try:
            read_settings(program, {}, environ, folder)
        except SettingsError as error:
            refusals.update(error.sentences)

    problems = set(explain_settings(environ, folder).problems)
    assert bool(problems) == bool(refusals)
    # A program stops at the first secret that it cannot read.
    assert refusals <= problems


def test_a_wrong_value_of_the_file_is_told_as_the_programs_tell_it(tmp_path: Path) -> None:
    explanation = explain(tmp_path, 'port = "many"')

    with pytest.raises(SettingsError) as refusal:
        read_settings(EngineSettings, {}, {}, tmp_path)

    assert explanation.problems == [str(refusal.value)]
    assert option(explanation, "port").given_by == f"port in {tmp_path / 'kb.toml'}"
