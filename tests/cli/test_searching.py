import json

import pytest
from tests.cli.conftest import Kb


@pytest.fixture
def notes(kb: Kb) -> None:
    kb("addnote", "Marmalade is made of bitter oranges", "--tags", "kitchen")
    kb("addnote", "Oranges grow in the greenhouse", "--tags", "garden")


@pytest.mark.usefixtures("notes")
def test_hits_show_title_number_and_marked_words(kb: Kb) -> None:
    result = kb("search", "marmalade", "--top", "1", "--mode", "fts")

    first, place, snippet, *_ = result.stdout.splitlines()
    assert "Marmalade is made of bitter oranges" in first
    assert "document " in place
    assert "tags: kitchen" in place
    assert snippet.strip() == "**Marmalade** is made of bitter oranges"


@pytest.mark.usefixtures("notes")
def test_tags_and_top_limit_a_search(kb: Kb) -> None:
    answer = json.loads(kb("search", "oranges", "--tags", "garden", "--top", "1", "--json").stdout)

    assert len(answer["results"]) == 1
    assert {tuple(hit["tags"]) for hit in answer["results"]} == {("garden",)}


def test_finding_nothing_is_no_error_and_leaves_stdout_empty(kb: Kb) -> None:
    result = kb("search", "oranges", "--tag", "no-such-tag")

    assert result.exit_code == 0
    assert result.stdout == ""
    assert "Nothing was found" in result.stderr


@pytest.mark.parametrize("arguments", [["search", "x", "--top", "0"], ["search", "x", "--mode", "guess"], ["search"]])
def test_wrong_usage_is_exit_code_2(kb: Kb, arguments: list[str]) -> None:
    result = kb(*arguments)

    assert result.exit_code == 2
    assert result.stdout == ""


def test_the_status_names_version_health_and_place(kb: Kb) -> None:
    result = kb("status")

    assert result.exit_code == 0
    assert "3.0.0, healthy" in result.stdout
    assert "all-MiniLM-L6-v2, loaded" in result.stdout


def test_the_status_as_json_is_what_the_engine_says(kb: Kb) -> None:
    answer = json.loads(kb("status", "--json").stdout)

    assert answer["health"]["status"] == "healthy"
    assert answer["documents"]["total"] >= 0
