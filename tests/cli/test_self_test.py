"""`kb eval` without questions: every document is searched for by its own words, and those that are lost are named."""

import asyncio
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

from kb.client import EngineClient, Json

GOOD = {
    "Kestrel hovering": "The kestrel hovers over the verge and watches for voles in the long grass.",
    "Osprey fishing": "An osprey plunges feet first into the reservoir and rises with a trout.",
    "Merlin hunting": "A merlin chases meadow pipits low across the heather moor in autumn.",
}
STATEMENT = (
    "Dear tenant, the yearly statement of heating and water costs for your flat is enclosed. Please transfer the "
    "balance within fourteen days to the housing association. Complaints are accepted until the quarter ends. "
)
GARBLED = "Th3 c0mm|ttee rn3t 0n tl-e f0ur+eenth 0f M@rch lri tbe uqqer r00rn xvvz kkkj prszt lllm q w r t "
CARGO = (
    *("anchor", "barley", "copper", "driftwood", "ermine", "flax", "ginger", "hemp"),
    *("indigo", "jasper", "kelp", "linen", "myrrh", "nutmeg", "opal"),
)
# More than are looked at, so that some of them have to be missed.
TOO_MANY = 14


def add_files(engine: EngineProgram, folder: Path, tag: str, files: Mapping[str, str]) -> None:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert engine.run_kb("add", str(folder), "--tag", tag).returncode == 0


def add_notes(engine: EngineProgram, tag: str, *notes: tuple[str, str], **facts: Any) -> None:
    """Each is a title and a text."""

    async def add(client: EngineClient, title: str, text: str) -> None:
        job = await client.submit_note(text, title=title, tags=[tag], **facts)
        await client.wait_for_job(job["id"])

    async def add_all() -> None:
        async with EngineClient(engine.url) as client:
            await asyncio.gather(*(add(client, *note) for note in notes))

    asyncio.run(add_all())


@pytest.fixture(scope="module")
def falcons(running_engine: EngineProgram) -> str:
    """The tag of documents that are all found."""
    add_notes(running_engine, "falcons", *GOOD.items())
    return "falcons"


def self_test(kb: Kb, tag: str) -> Json:
    tested: Json = json.loads(kb("eval", "--tag", tag, "--json").stdout)
    return tested


def codes_of(tested: Json) -> list[list[str]]:
    return [[reason["code"] for reason in document["reasons"]] for document in tested["hard_to_find"]]


def test_a_base_in_which_all_is_found_is_told_in_few_words(kb: Kb, falcons: str) -> None:
    result = kb("eval", "--tag", falcons, "--min-recall", "1")

    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.split("\t") for line in result.stdout.splitlines()] == [
        ["measure", "title", "phrase"],
        ["asked", "3", "3"],
        ["found", "3", "3"],
        ["Recall@10", "1.000", "1.000"],
        ["MRR@10", "1.000", "1.000"],
        [""],
        ["Every document is found by its title and by its own words."],
    ]


def test_on_a_terminal_there_is_a_table(running_engine: EngineProgram, falcons: str, tmp_path: Path) -> None:
    environment = own_environment(tmp_path, running_engine.client_settings)

    with OnTerminal("eval", "--tag", falcons, environment=environment) as terminal:
        code = terminal.wait()

    assert code == 0, terminal.output
    assert "3 documents" in terminal.output
    assert "by phrase" in terminal.output


def test_near_duplicates_hide_each_other_and_are_named(kb: Kb, running_engine: EngineProgram) -> None:
    notes = {f"costs of flat {number}": f"{STATEMENT}Flat {number}." for number in range(TOO_MANY)}
    add_notes(running_engine, "flats", *notes.items())

    tested = self_test(kb, "flats")
    shown = kb("eval", "--tag", "flats").stdout

    assert tested["measures"]["phrase"]["found"] < TOO_MANY
    assert codes_of(tested) == [["near_duplicates"]] * len(tested["hard_to_find"])
    assert {hit["title"] for hit in tested["hard_to_find"][0]["missed"][0]["came"]} < set(notes)
    assert {hit["title"] for hit in tested["hard_to_find"][0]["reasons"][0]["others"]} < set(notes)
    assert "say nearly the same" in shown
    assert "kb delete" in shown


def test_what_others_fit_better_is_told_with_its_place_and_what_came(kb: Kb, running_engine: EngineProgram) -> None:
    chance = random.Random(1)  # noqa: S311 - no secret
    cargoes = [" ".join(chance.choice(CARGO) for _ in range(60)) for _ in range(2 * TOO_MANY)]
    add_notes(running_engine, "ships", *((f"manifest of ship {n}", cargo) for n, cargo in enumerate(cargoes)))

    worst = self_test(kb, "ships")["hard_to_find"][0]

    assert [reason["code"] for reason in worst["reasons"]] == ["outranked"]
    assert worst["missed"][0]["by"] == "phrase"
    assert worst["missed"][0]["place"] > 10
    assert worst["document_id"] not in [hit["document_id"] for hit in worst["missed"][0]["came"]]


@pytest.mark.parametrize(
    ("title", "code"), [("Quarterly falconry report", "title_shared"), ("Scan", "title_says_nothing")]
)
def test_titles_that_many_share_or_that_say_nothing_are_told_as_such(
    kb: Kb, running_engine: EngineProgram, title: str, code: str
) -> None:
    tag = f"titles {code}"
    texts = [f"The {word} hawk {word}ly {word}ed its own {word}ing perch." for word in CARGO[:TOO_MANY]]
    add_notes(running_engine, tag, *((title, text) for text in texts))

    tested = self_test(kb, tag)

    assert tested["measures"]["phrase"]["Recall@10"] == 1
    assert tested["hard_to_find"]
    assert {code for codes in codes_of(tested) for code in codes} == {code}
    assert "kb edit ID --title" in tested["hard_to_find"][0]["reasons"][0]["advice"]


def test_files_that_say_nothing_and_files_that_are_garbled_are_named_though_they_are_found(
    kb: Kb, running_engine: EngineProgram, tmp_path: Path
) -> None:
    files = {"Scan 0001.txt": "Seite", "minutes of the harbour board.txt": GARBLED * 3}
    add_files(running_engine, tmp_path / "papers", "papers", files)

    tested = self_test(kb, "papers")
    shown = kb("eval", "--tag", "papers").stdout

    assert codes_of(tested) == [["no_text", "title_says_nothing"], ["garbled_text"]]
    assert [document["lost"] for document in tested["hard_to_find"]] == [True, False]
    assert "2 of 2 documents are hard to find, 1 of them as good as lost:" in shown
    assert "Only 1 word could be read in it." in shown
    assert "hardly language" in shown


def test_pages_that_could_not_be_read_are_told(kb: Kb, running_engine: EngineProgram) -> None:
    unread = {"unread_pages": ["3", "5-6"]}
    add_notes(running_engine, "arctic", ("Gyrfalcon", "The gyrfalcon of the north"), metadata=unread)

    assert codes_of(self_test(kb, "arctic")) == [["unread_parts"]]
    assert "Pages 3, 5-6 could not be read." in kb("eval", "--tag", "arctic").stdout


def test_of_many_documents_a_sample_is_asked_for_the_same_each_time(kb: Kb, falcons: str) -> None:
    first, second = (kb("eval", "--tag", falcons, "--documents", "2", "--json") for _ in range(2))

    assert first.stdout == second.stdout
    assert (json.loads(first.stdout)["documents"], json.loads(first.stdout)["total"]) == (2, 3)
    assert "2 of 3 documents" in first.stderr
    assert "--documents 3" in first.stderr


def test_documents_are_chosen_by_their_type(kb: Kb, falcons: str) -> None:
    notes, pdfs = (kb("eval", "--tag", falcons, "--type", kind, "--json") for kind in ("note", "pdf"))

    assert (json.loads(notes.stdout)["total"], json.loads(pdfs.stdout)["total"]) == (3, 0)


def test_where_there_are_no_documents_nothing_is_measured(kb: Kb) -> None:
    plain, strict = kb("eval", "--tag", "no such"), kb("eval", "--tag", "no such", "--min-recall", "0.5")

    assert (plain.exit_code, plain.stdout) == (0, "")
    assert "no such documents" in plain.stderr
    assert strict.exit_code == 1


def test_where_there_is_no_phrase_to_ask_none_is_missed(kb: Kb, running_engine: EngineProgram) -> None:
    add_notes(running_engine, "signs", ("Signs without words", "-- ** --"))

    result = kb("eval", "--tag", "signs", "--min-recall", "0.9")

    assert (result.exit_code, result.stderr) == (0, "")


def test_a_model_that_is_not_there_yet_is_told(kb: Kb) -> None:
    document = {
        "id": 1,
        "title": "Hobby",
        "doc_type": "note",
        "processing_method": "",
        "metadata": {},
        "chunk_count": 1,
    }
    chunk = {"text": "The hobby catches dragonflies", "page_num": None}
    hit = {"document_id": 1, "title": "Hobby", "text": chunk["text"]}

    def answer(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        if method == "POST":
            return 200, {"results": [hit], "degraded": True}
        listed = {"documents": [document], "total": 1}
        return 200, {**document, "chunks": [chunk]} if "/documents/1" in path else listed

    with scripted_engine(answer) as url:
        result = kb("eval", KB_ENGINE_URL=url)

    assert result.exit_code == 0
    assert "still loading" in result.stderr


def test_a_share_of_documents_that_is_not_found_is_exit_code_1_if_it_was_asked_for(
    kb: Kb, running_engine: EngineProgram
) -> None:
    """C3"""
    terms = "The falconer leases mews, perches and gauntlets to the apprentice for a season, and insures the lures."
    add_notes(running_engine, "leases", *((f"lease {number}", f"{terms} No. {number}") for number in range(TOO_MANY)))

    lenient, strict = (kb("eval", "--tag", "leases", "--min-recall", least) for least in ("0.1", "1"))

    assert (lenient.exit_code, strict.exit_code) == (0, 1)
    assert "below 1" in strict.stderr


def test_options_that_choose_documents_do_not_go_with_questions(kb: Kb, tmp_path: Path) -> None:
    """C3"""
    for option in (["--documents", "5"], ["--tag", "a"], ["--type", "pdf"]):
        result = kb("eval", str(tmp_path / "questions.jsonl"), *option)

        assert (result.exit_code, result.stdout) == (2, "")


def test_an_engine_that_is_not_there_is_exit_code_6(kb: Kb) -> None:
    """C3"""
    assert kb("eval", KB_ENGINE_URL="http://127.0.0.1:1").exit_code == 6
