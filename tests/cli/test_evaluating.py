import json
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.engine_program import EngineProgram

NOTES = {
    "Curlew calls": "The curlew calls over the moor at dusk.",
    "Lapwing nests": "The lapwing hides its nest in short grass.",
    "Snipe drums": "The snipe drums with its tail feathers.",
}
TAG = "waders of the evaluation"


@pytest.fixture(scope="module")
def note_ids(running_engine: EngineProgram) -> dict[str, int]:
    ids = {}
    for title, text in NOTES.items():
        added = running_engine.run_kb("addnote", text, "--title", title, "--tag", TAG, "--json")
        ids[title] = int(json.loads(added.stdout)["document_id"])
    return ids


def write_questions(folder: Path, *questions: dict[str, object]) -> str:
    file = folder / "questions.jsonl"
    file.write_text("\n".join(json.dumps({"tags": [TAG], **question}) for question in questions), encoding="utf-8")
    return str(file)


def test_a_base_that_finds_everything_scores_1_in_every_mode(kb: Kb, note_ids: dict[str, int], tmp_path: Path) -> None:
    """C1"""
    file = write_questions(
        tmp_path,
        {"query": "curlew moor", "expected": note_ids["Curlew calls"]},
        {"query": "lapwing nest grass", "expected": ["Lapwing nests"]},
    )

    result = kb("eval", file, "--min-recall", "1")

    assert result.exit_code == 0
    assert [line.split("\t") for line in result.stdout.splitlines()] == [
        ["measure", "hybrid", "fts", "vector"],
        ["nDCG@10", "1.000", "1.000", "1.000"],
        ["Recall@10", "1.000", "1.000", "1.000"],
        ["MRR@10", "1.000", "1.000", "1.000"],
    ]
    assert result.stderr == ""


def test_what_was_missed_is_told_with_what_came_instead(kb: Kb, note_ids: dict[str, int], tmp_path: Path) -> None:
    file = write_questions(
        tmp_path,
        {"query": "snipe tail feathers", "expected": ["Snipe drums", "gone.pdf"]},
        {"query": "curlew", "expected": "Curlew calls"},
    )

    result = kb("eval", file)
    as_json = json.loads(kb("eval", file, "--json").stdout)

    assert "Line 1: there is no document gone.pdf" in result.stderr
    assert "1 of 2 questions missed something" in result.stdout
    assert "gone.pdf (is not there)" in result.stdout
    assert f"{note_ids['Snipe drums']}: Snipe drums" in result.stdout
    assert (as_json["questions"], as_json["measures"]["fts"]["Recall@10"]) == (2, 0.75)
    assert as_json["missed"][0]["missed"] == [{"name": "gone.pdf", "document_ids": [], "place": None}]
    assert as_json["missed"][0]["came"][0]["document_id"] == note_ids["Snipe drums"]


def test_what_is_found_further_down_is_told_with_its_place(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "birds").mkdir()
    for number in range(12):
        words = "godwit " * (13 - number)
        (tmp_path / "birds" / f"godwit {number}.txt").write_text(f"{words} and more of {number}")
    kb("add", str(tmp_path / "birds"), "--tag", "godwits", "--json")
    hits = json.loads(kb("search", "godwit", "--tag", "godwits", "--top", "200", "--json").stdout)["results"]
    ranking = list(dict.fromkeys(hit["filename"] for hit in hits))
    file = write_questions(tmp_path, {"query": "godwit", "expected": f"birds/{ranking[11]}", "tags": ["godwits"]})

    missed = json.loads(kb("eval", file, "--json").stdout)["missed"]

    assert [target["place"] for target in missed[0]["missed"]] == [12]
    assert f"{ranking[11]} (at place 12)" in kb("eval", file).stdout


def test_a_name_that_several_documents_have_is_met_by_any_of_them_once(kb: Kb, tmp_path: Path) -> None:
    for text in ("An avocet wades", "An avocet flies"):
        kb("addnote", text, "--title", "Avocet", "--tag", TAG)
    file = write_questions(tmp_path, {"query": "avocet", "expected": "Avocet"})

    figures = json.loads(kb("eval", file, "--json").stdout)["measures"]["hybrid"]

    assert figures == {"nDCG@10": 1.0, "Recall@10": 1.0, "MRR@10": 1.0}


@pytest.mark.usefixtures("note_ids")
def test_recall_below_what_was_asked_for_is_exit_code_1(kb: Kb, tmp_path: Path) -> None:
    """C3"""
    file = write_questions(tmp_path, {"query": "curlew", "expected": ["Curlew calls", "gone.pdf"]})

    below, enough = kb("eval", file, "--min-recall", "0.9"), kb("eval", file, "--min-recall", "0.5")

    assert (below.exit_code, enough.exit_code) == (1, 0)
    assert "0.500" in below.stderr


@pytest.mark.usefixtures("note_ids")
def test_questions_come_as_csv_or_by_standard_input(kb: Kb, tmp_path: Path) -> None:
    """C4"""
    table = tmp_path / "questions.CSV"
    table.write_text(f"query,expected,tags\ncurlew,Curlew calls;Snipe drums,{TAG}\n", encoding="utf-8-sig")

    of_table = json.loads(kb("eval", str(table), "--json").stdout)
    of_stdin = json.loads(kb("eval", "-", "--json", stdin='{"query": "curlew", "expected": "Curlew calls"}').stdout)

    assert (of_table["questions"], of_stdin["questions"]) == (1, 1)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"query": "x", "expected": 1}\n{"query": ""}\nx', ["Line 2", "Line 3", "kb eval --help"]),
        (b"x\n" * 50, ["Line 20", "30 more"]),
        (b"\n \n", ["no questions"]),
        (b"\xff\xfe", ["not UTF-8"]),
    ],
)
def test_a_file_that_is_wrong_is_told_before_anything_is_asked(
    kb: Kb, tmp_path: Path, content: bytes, told: list[str]
) -> None:
    """C3"""
    file = tmp_path / "questions.jsonl"
    file.write_bytes(content)

    result = kb("eval", str(file), KB_ENGINE_URL="http://127.0.0.1:1")

    assert (result.exit_code, result.stdout) == (2, "")
    assert all(words in result.stderr for words in told)


def test_a_question_that_the_engine_refuses_is_told_with_its_line(kb: Kb, tmp_path: Path) -> None:
    file = write_questions(tmp_path, {"query": "x", "expected": 1}, {"query": "x" * 10_001, "expected": 1})

    result = kb("eval", file)

    assert result.exit_code == 2
    assert "Line 2" in result.stderr


def test_a_missing_file_is_exit_code_3_and_a_missing_engine_6(kb: Kb, tmp_path: Path) -> None:
    """C3"""
    file = write_questions(tmp_path, {"query": "x", "expected": 1})

    missing, away = kb("eval", str(tmp_path / "none")), kb("eval", file, KB_ENGINE_URL="http://127.0.0.1:1")

    assert (missing.exit_code, away.exit_code) == (3, 6)
