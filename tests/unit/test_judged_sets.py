import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from evaluation.sets import Item, JudgedDocument, JudgedQuery, Row, find_sets, load_set

from kb.engine.search.hybrid import Grouping

QUERIES: list[Row] = [{"id": "q1", "text": "who sails?"}]


def write_set(folder: Path, corpus: Sequence[Row], queries: Sequence[Row] = QUERIES, qrels: str = "q1\ta\t1\n") -> Path:
    folder.mkdir()
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{qrels}", encoding="utf-8")
    return folder


def test_a_row_is_a_document_with_a_title_or_without(tmp_path: Path) -> None:
    corpus = [{"id": "a", "title": "Boats", "text": "Ann sails."}, {"id": "b", "text": "Bob rows.", "lang": "en"}]

    judged = load_set(write_set(tmp_path / "any name", corpus))

    assert judged.documents == [
        JudgedDocument("Boats", [Item("a", "Ann sails.")]),
        JudgedDocument("", [Item("b", "Bob rows.")]),
    ]
    assert judged.grouping is Grouping.DOCUMENT


def test_stretches_of_a_text_are_items_of_one_document(tmp_path: Path) -> None:
    corpus = [{"id": place, "doc": doc, "text": place} for doc, place in [("log", "a"), ("log", "b"), ("map", "c")]]

    judged = load_set(write_set(tmp_path / "set", corpus))

    assert judged.documents == [
        JudgedDocument("log", [Item("a", "a"), Item("b", "b")]),
        JudgedDocument("map", [Item("c", "c")]),
    ]
    assert judged.grouping is Grouping.CHUNK


def test_turns_are_items_of_their_session_and_tagged_with_their_group(tmp_path: Path) -> None:
    turn = {"text": "Ahoy.", "session": 1, "speaker": "Ann", "date": "8 May"}
    corpus = [{"id": "a", "group": "crew", **turn}, {"id": "b", "group": "club", **turn}]

    judged = load_set(write_set(tmp_path / "set", corpus, [{"id": "q1", "text": "who sails?", "group": "club"}]))

    assert judged.documents == [
        JudgedDocument("8 May", [Item("a", "Ahoy.", "Ann")], ("crew",)),
        JudgedDocument("8 May", [Item("b", "Ahoy.", "Ann")], ("club",)),
    ]
    assert judged.grouping is Grouping.CHUNK
    assert judged.queries[0].tags == ("club",)


def test_queries_stand_in_the_order_of_their_ids_less_those_without_an_answer(tmp_path: Path) -> None:
    queries = [{"id": name, "text": name, "lang": "en"} for name in ("q3", "q1", "q2", "q4")]
    qrels = "q1\ta\t2\nq1\tb\t0\nq2\ta\t0\nq3\tb\t1\n"

    judged = load_set(write_set(tmp_path / "set", [{"id": "a", "text": "Ann sails."}], queries, qrels))

    assert judged.queries == [
        JudgedQuery("q1", {"a": 2, "b": 0}, (), "en"),
        JudgedQuery("q3", {"b": 1}, (), "en"),
    ]


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", [{"id": 7, "text": "Ann sails."}], [{"id": 1, "text": "who?"}], "1\t7\t1\n")

    judged = load_set(folder)

    assert judged.documents[0].items[0].id == "7"
    assert judged.queries[0].judgments == {"7": 1}


def test_a_gzipped_set_is_the_same_set(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", [{"id": "a", "text": "Änne sails."}])
    plain = load_set(folder)

    for path in list(folder.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()

    assert load_set(folder) == plain


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_only_a_folder_with_all_three_files_is_a_set(tmp_path: Path, missing: str) -> None:
    for name in ("b", "a", "no set"):
        write_set(tmp_path / name, [])
    (tmp_path / "no set" / missing).unlink()
    (tmp_path / "README.md").touch()

    assert [folder.name for folder in find_sets(tmp_path)] == ["a", "b"]
