from evaluation.report import render
from evaluation.scores import score
from evaluation.sets import JudgedQuery

from kb.engine.search.hybrid import Mode


def make_report(languages: list[str | None]) -> list[str]:
    queries = [JudgedQuery("who sails?", {"a": 1}, (), language) for language in languages]
    found_by = {Mode.HYBRID: ["a", "b"], Mode.KEYWORD: ["b", "a"], Mode.VECTOR: ["b"]}
    rankings = {mode: [found] * len(queries) for mode, found in found_by.items()}
    return render(score("boats", queries, rankings)).splitlines()


def test_each_method_has_a_row_and_hybrid_search_its_intervals() -> None:
    name, header, hybrid, fts, *_ = make_report([None] * 3)

    assert name == "boats, 3 queries"
    assert header.split() == ["nDCG@10", "Recall@10", "MRR@10", "Recall@100"]
    assert hybrid.split() == ["hybrid", *["1.000", "[1.000,", "1.000]"] * 4]
    assert fts.split() == ["fts", "0.631", "1.000", "0.500", "1.000"]


def test_hybrid_search_is_compared_with_the_better_single_method_and_with_rank_fusion() -> None:
    *_, single, fusion = make_report([None] * 3)

    assert single.strip() == "hybrid - fts        +0.369 [+0.369, +0.369]"
    assert fusion.strip().startswith("hybrid - RRF k=60   ")


def test_every_language_has_its_recall() -> None:
    report = make_report(["en", "de", "en"])

    assert [line.split() for line in report[-2:]] == [
        ["de", "1.000", "1.000", "0.000", "1.000"],
        ["en", "1.000", "1.000", "0.000", "1.000"],
    ]


def test_a_report_fits_into_120_columns() -> None:
    assert max(len(line) for line in make_report(["en", "de", None])) <= 120
