"""A filter that is empty is refused: where a script's variable is not set, it would mean everything."""

import pytest
from tests.cli.conftest import Kb


@pytest.mark.parametrize("option", ["--tag", "--tags", "--grep", "--type", "--format", "--path", "--folder"])
@pytest.mark.parametrize("value", ["", " ", ","])
def test_an_empty_filter_lists_nothing(kb: Kb, option: str, value: str) -> None:
    result = kb("list", "--ids", option, value)

    assert (result.exit_code, result.stdout) == (2, "")
    assert option in result.stderr


@pytest.mark.parametrize("arguments", [["--tag", ""], ["--tags", ","], ["--tags", "a", "--tags", ""]])
def test_an_empty_tag_neither_searches_nor_adds(kb: Kb, arguments: list[str]) -> None:
    for command in ("search", "addnote"):
        result = kb(command, "words", *arguments)

        assert (result.exit_code, result.stdout) == (2, "")
