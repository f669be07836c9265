import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.cli.conftest import Kb
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

from kb import sample


@pytest.fixture(autouse=True)
def _removed_afterwards(kb: Kb) -> Iterator[None]:
    yield
    kb("demo", "--remove", "--yes")


def test_c1_the_demo_adds_its_sample_and_shows_three_searches_that_find_what_they_promise(kb: Kb) -> None:
    result = kb("demo")

    searches = re.split(r"^\$ kb search ", result.stdout, flags=re.MULTILINE)
    assert result.exit_code == 0
    assert searches[0].count(" added: ") == 9
    firsts = [(command.splitlines()[0], command.splitlines()[1]) for command in searches[1:]]
    assert [(command, title.split("  ")[1]) for command, title in firsts] == [
        ("copper tape --tag sample --top 1", "Slugs: what worked for us"),
        ("pest control --tag sample --top 1", "Slugs: what worked for us"),
        ("water --tag sample --tag minutes --top 1", "Minutes, 13 June"),
    ]


def test_the_demo_can_be_shown_again_and_leaves_nothing_of_it_behind(kb: Kb) -> None:
    """C5: what somebody else has given the same tag stays."""
    own = json.loads(kb("addnote", "A note of my own", "--tag", "sample", "--json").stdout)
    kb("demo")

    again, unasked, removed = kb("demo"), kb("demo", "--remove"), kb("demo", "--remove", "--yes")

    assert again.stdout.count(" unchanged: ") == 9
    assert (unasked.exit_code, removed.stdout) == (4, "9 documents of the sample removed.\n")
    assert json.loads(kb("list", "--tag", "sample", "--json").stdout)["documents"][0]["id"] == own["document_id"]
    assert kb("demo", "--remove").stdout == "0 documents of the sample removed.\n"


@pytest.mark.parametrize("comes_first", ["the sample", "the copy"])
def test_a_copy_of_its_files_that_somebody_adds_is_theirs(kb: Kb, tmp_path: Path, comes_first: str) -> None:
    """E25: the same bytes from another place are another document."""
    own = tmp_path / "my-slugs.md"
    own.write_bytes((sample.FOLDER / "slugs.md").read_bytes())
    commands = [("demo",), ("add", str(own))]
    for command in commands if comes_first == "the sample" else reversed(commands):
        assert kb(*command).exit_code == 0

    removed = kb("demo", "--remove", "--yes")

    (kept,) = json.loads(kb("list", "--path", str(own), "--json").stdout)["documents"]
    assert (removed.stdout, kept["tags"]) == ("9 documents of the sample removed.\n", [])
    kb("delete", str(kept["id"]), "--yes")


def test_what_of_it_somebody_has_tagged_is_kept_and_told(kb: Kb) -> None:
    kb("demo")
    (slugs,) = json.loads(kb("list", "--tag", "sample", "--grep", "slugs", "--json").stdout)["documents"]
    kb("tag", str(slugs["id"]), "+mine")

    removed = kb("demo", "--remove", "--yes")

    assert removed.stdout.startswith("8 documents of the sample removed.\n1 document kept")
    assert kb("get", str(slugs["id"])).exit_code == 0
    kb("delete", str(slugs["id"]), "--yes")


def test_a_copy_without_a_place_that_was_there_before_is_kept(kb: Kb) -> None:
    """E25: the sample's file is merged with it, and by that it gets the place of the sample."""
    added = kb("add", "-", "--name", "slugs.md", "--json", stdin=(sample.FOLDER / "slugs.md").read_bytes())
    own = json.loads(added.stdout)["document_id"]
    kb("demo")

    removed = kb("demo", "--remove", "--yes")

    assert removed.stdout.startswith("8 documents of the sample removed.\n1 document kept")
    assert kb("get", str(own)).exit_code == 0
    kb("delete", str(own), "--yes")


def test_what_of_it_somebody_has_given_another_title_is_kept(kb: Kb, running_engine: EngineProgram) -> None:
    kb("demo")
    (slugs,) = json.loads(kb("list", "--tag", "sample", "--grep", "slugs", "--json").stdout)["documents"]
    place = f"{running_engine.url}/api/v1/documents/{slugs['id']}"
    httpx.patch(place, json={"title": "What eats our lettuce"}, trust_env=False).raise_for_status()

    removed = kb("demo", "--remove", "--yes")

    assert removed.stdout.startswith("8 documents of the sample removed.\n1 document kept")
    assert httpx.get(place, trust_env=False, timeout=60).is_success
    kb("delete", str(slugs["id"]), "--yes")


def test_what_of_it_changes_or_goes_while_it_asks_is_left_and_the_rest_removed(
    kb: Kb, running_engine: EngineProgram, tmp_path: Path
) -> None:
    """C3, C5"""
    kb("demo")
    changed, gone, *_ = kb("list", "--tag", "sample", "--ids").stdout.split()
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})

    with OnTerminal("demo", "--remove", environment=environment) as terminal:
        terminal.wait_for("[y/N]: ")
        kb("tag", changed, "+mine")
        kb("delete", gone, "--yes")
        terminal.type("y\n")
        exit_code = terminal.wait()

    assert exit_code == 0, terminal.output
    assert "7 documents of the sample removed." in terminal.output
    assert "1 document kept" in terminal.output
    kb("delete", changed, "--yes")


def test_the_searches_that_it_shows_ask_the_same_engine(kb: Kb, running_engine: EngineProgram) -> None:
    result = kb("demo", "--engine-url", running_engine.url, KB_ENGINE_URL="http://127.0.0.1:9")

    commands = re.findall(r"^\$ (.*)$", result.stdout, flags=re.MULTILINE)
    assert len(commands) == 3
    assert all(command.endswith(f" --engine-url {running_engine.url}") for command in commands)


def test_the_index_of_the_sample_knows_its_files() -> None:
    told = {file["name"]: file["content_hash"] for file in json.loads(sample.INDEX.read_text())["files"]}

    others = {"__init__.py", sample.INDEX.name}
    files = [path for path in sample.FOLDER.iterdir() if path.is_file() and path.name not in others]
    assert told == {path.name: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files}
