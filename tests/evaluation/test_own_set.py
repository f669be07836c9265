"""The own set through a real engine with the real model: whoever makes search worse is told before it is merged."""

from evaluation.gate import ACCEPTED, find_faults, read_accepted
from evaluation.searching import measure
from evaluation.sets import load_set

from kb.engine.ports import Embedder

OWN = ACCEPTED.with_name("own")


def test_search_finds_in_the_own_set_what_it_was_accepted_to_find(embedder: Embedder) -> None:
    scores = measure(load_set(OWN), embedder)

    assert find_faults(scores, read_accepted()["own"]) == []
