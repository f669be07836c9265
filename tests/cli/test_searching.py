import json
import shlex

import pytest
from tests.cli.conftest import Kb
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

from kb.cli.render.searching import remark_on_hits


@pytest.fixture(scope="module")
def notes(running_engine: EngineProgram) -> None:
    marmalade = ("Marmalade is made of bitter oranges", "--tags", "kitchen", "--title", "Marmalade")
    greenhouse = ("Oranges grow in the greenhouse", "--tags", "garden,long words", "--source-path", "/gardens/oranges")
    for note in (marmalade, greenhouse):
        assert running_engine.run_kb("addnote", *note).returncode == 0


@pytest.mark.usefixtures("notes")
def test_hits_show_title_number_and_marked_words(kb: Kb) -> None:
    result = kb("search", "marmalade", "--top", "1", "--mode", "fts")

    first, place, snippet, *_ = result.stdout.splitlines()
    assert first.startswith(" 1  Marmalade  ")
    assert "document " in place
    assert "tags: kitchen" in place
    assert snippet.strip() == "**Marmalade** is made of bitter oranges"


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({"fts": 2.5, "vector": None}, "Searched by words only: the model or its vectors are not all there yet, or"),
        ({"fts": None, "vector": 0.4}, "Searched by meaning only: these words are in too many documents"),
    ],
)
def test_a_search_that_went_one_way_only_says_which(
    capsys: pytest.CaptureFixture[str], scores: dict[str, float | None], told: str
) -> None:
    remark_on_hits({"results": [{"scores": scores}], "total": 1, "degraded": True}, more=None, suggested=None)

    assert capsys.readouterr().err.startswith(told)


@pytest.mark.usefixtures("notes")
def test_tags_and_top_limit_a_search(kb: Kb) -> None:
    answer = json.loads(kb("search", "oranges", "--tags", "garden", "--top", "1", "--json").stdout)

    assert len(answer["results"]) == 1
    assert {tuple(hit["tags"]) for hit in answer["results"]} == {("garden", "long words")}


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(
    "options",
    [
        ["--type", "note", "--tag", "long words"],
        ["--format", "note", "--tag", "garden"],
        ["--path", "/gardens/oranges"],
        ["--since", "2001-01-01", "--until", "2999-12-31", "--tag", "garden"],
        ["--by-document", "--mode", "vector", "--path", "/gardens/oranges"],
        ["--min-relevance", "0.01", "--path", "/gardens/oranges"],
    ],
)
def test_filters_keep_what_fits(kb: Kb, options: list[str]) -> None:
    answer = json.loads(kb("search", "oranges", *options, "--json").stdout)

    assert {hit["title"] for hit in answer["results"]} == {"Oranges grow in the greenhouse"}


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(
    "options",
    [
        ["--type", "pdf"],
        ["--format", "xlsx"],
        ["--path", "/gardens"],
        ["--until", "2001-01-01"],
        ["--since", "2999-01-01"],
        ["--meta", "year=2024"],
        ["--min-relevance", "1"],
    ],
)
def test_filters_leave_out_what_does_not_fit(kb: Kb, options: list[str]) -> None:
    result = kb("search", "oranges", "--tag", "garden", *options, "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["results"] == []


def test_finding_nothing_is_no_error_and_leaves_stdout_empty(kb: Kb) -> None:
    result = kb("search", "oranges", "--tag", "no-such-tag")

    assert result.exit_code == 0
    assert result.stdout == ""
    assert "Nothing was found" in result.stderr


@pytest.mark.usefixtures("notes")
def test_the_query_comes_from_standard_input_for_a_dash(kb: Kb) -> None:
    """C4"""
    result = kb("search", "-", "--mode", "fts", stdin="marmalade\n")

    assert "**Marmalade**" in result.stdout


@pytest.mark.usefixtures("notes")
def test_a_word_with_a_dash_is_left_out(kb: Kb) -> None:
    answer = json.loads(kb("search", "oranges", "-bitter", "--mode", "fts", "--json").stdout)

    titles = {hit["title"] for hit in answer["results"]}
    assert "Oranges grow in the greenhouse" in titles
    assert "Marmalade" not in titles


@pytest.mark.usefixtures("notes")
def test_a_word_with_a_dash_is_no_option_even_if_it_begins_like_one(kb: Kb) -> None:
    result = kb("search", "marmalade", "-hat", "--tag", "kitchen", "--jsonl")

    assert json.loads(result.stdout)["title"] == "Marmalade"


@pytest.mark.usefixtures("notes")
def test_behind_two_dashes_all_are_words_and_stay_words_on_the_next_page(kb: Kb) -> None:
    result = kb("search", "--top", "1", "--", "--json", "oranges")

    assert result.stdout.startswith(" 1  ")
    assert result.stderr.endswith("in all: kb search --top 1 --page 2 -- --json oranges\n")


@pytest.mark.usefixtures("notes")
def test_each_hit_is_a_line_of_json(kb: Kb) -> None:
    whole = json.loads(kb("search", "oranges", "--json").stdout)

    lines = kb("search", "oranges", "--jsonl").stdout.splitlines()

    assert [json.loads(line)["chunk_id"] for line in lines] == [hit["chunk_id"] for hit in whole["results"]]


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("start", [[], ["--page", "1"], ["--offset", "0"]])
def test_the_command_that_is_told_leads_to_the_next_page(kb: Kb, start: list[str]) -> None:
    page = kb("search", "oranges and lemons", "--top", "1", *start)
    told = page.stderr.split("in all: ")[1]
    following = kb(*shlex.split(told)[1:])

    assert page.stdout.startswith(" 1  ")
    assert following.stdout.startswith(" 2  ")
    assert "'oranges and lemons'" in told


@pytest.mark.usefixtures("notes")
def test_a_misspelt_word_is_told_with_the_command_for_the_right_one(kb: Kb) -> None:
    result = kb("search", "marmelade", "--tag", "kitchen", "--page", "2")

    assert "Did you mean: kb search --tag kitchen Marmalade\n" in result.stderr


@pytest.mark.usefixtures("notes")
def test_where_all_is_shown_nothing_is_said(kb: Kb) -> None:
    assert kb("search", "oranges", "--tag", "long words", "--top", "1").stderr == ""


@pytest.mark.usefixtures("notes")
def test_behind_the_last_page_there_are_no_more(kb: Kb) -> None:
    result = kb("search", "oranges", "--tag", "garden", "--page", "7")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "There are no more: " in result.stderr


@pytest.mark.usefixtures("notes")
def test_whole_chunks_and_reasons_are_shown_on_demand(kb: Kb) -> None:
    result = kb("search", "marmalade", "--tag", "kitchen", "--full", "--why", "--top", "1")

    assert "found by its words (bm25 " in result.stdout
    assert "by its meaning (cosine " in result.stdout
    assert "    **Marmalade** is made of bitter oranges\n" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["x", "--top", "0"],
        ["x", "--top", "201"],
        ["x", "--mode", "guess"],
        [],
        ["x", "--jsno"],
        ["x", "--jsno=1"],
        ["x", "--page", "2", "--offset", "3"],
        ["x", "--page", "1000000"],
        ["x", "--json", "--jsonl"],
        ["x", "--meta", "year"],
        ["x", "--meta", "=2024"],
        ["x", "--since", "yesterday"],
        ["x", "--min-relevance", "nan"],
        ["x", "--min-relevance", "1.5"],
    ],
)
def test_wrong_usage_is_exit_code_2(kb: Kb, arguments: list[str]) -> None:
    """C3"""
    result = kb("search", *arguments)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Error: " in result.stderr


@pytest.mark.usefixtures("notes")
def test_on_a_terminal_words_are_coloured_and_titles_lead_to_the_engine(
    running_engine: EngineProgram, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """C2"""
    environment = own_environment(tmp_path_factory.mktemp("home"), {"KB_ENGINE_URL": running_engine.url})
    environment.pop("NO_COLOR", None)

    with OnTerminal("search", "marmalade", "--tag", "kitchen", "--top", "1", environment=environment) as terminal:
        exit_code = terminal.wait()

    assert exit_code == 0
    assert "\x1b[1;33mMarmalade\x1b[0m is made of bitter oranges" in terminal.output
    assert f";{running_engine.url}/api/v1/documents/" in terminal.output


def test_the_status_names_version_health_and_place(kb: Kb, running_engine: EngineProgram) -> None:
    result = kb("status")

    assert result.exit_code == 0
    assert "3.0.0, healthy" in result.stdout
    assert "all-MiniLM-L6-v2, loaded, on cpu" in result.stdout
    assert f"{running_engine.data_dir} (sqlite, schema " in result.stdout


def test_the_status_as_json_is_what_the_engine_says(kb: Kb) -> None:
    answer = json.loads(kb("status", "--json").stdout)

    assert answer["health"]["status"] == "healthy"
    assert answer["documents"]["total"] >= 0
