"""A judged set searched in a real engine over HTTP, with the real model."""

from pathlib import Path

from evaluation.scores import HYBRID, NDCG, RANK_FUSION, SINGLE_METHODS
from evaluation.searching import measure
from evaluation.sets import Item, JudgedDocument, JudgedQuery, JudgedSet

from kb.engine.ports import Embedder
from kb.engine.search.hybrid import Grouping

SKIPPER = "Ann is our skipper, and the boat is hers."
COOK = "Bob cooks, because he likes it."


def conversation(group: str) -> JudgedDocument:
    """The same words in every group: only its tag tells which one is meant."""
    items = [Item(f"{group} skipper", SKIPPER, "Ann"), Item(f"{group} cook", COOK, "Bob")]
    return JudgedDocument("8 May", items, (group,))


def test_a_turn_is_found_by_every_method_in_its_own_group(embedder: Embedder, tmp_path: Path) -> None:
    queries = [
        JudgedQuery("Who is the skipper of the boat?", {"crew skipper": 1}, ("crew",), None),
        JudgedQuery("Who cooks?", {"club cook": 1}, ("club",), None),
    ]
    judged = JudgedSet("tiny", [conversation("crew"), conversation("club")], queries, Grouping.CHUNK)

    scores = measure(judged, embedder, tmp_path)

    assert {*scores.figures} == {HYBRID, *SINGLE_METHODS, RANK_FUSION}
    assert all(list(figures[NDCG]) == [1.0, 1.0] for figures in scores.figures.values())
