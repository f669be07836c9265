"""The own set through a real engine with the real model: whoever makes search worse is told before it is merged."""

from pathlib import Path

import pytest
from evaluation.gate import ACCEPTED, find_faults, read_accepted
from evaluation.searching import measure
from evaluation.sets import load_set
from tests.amounts import IS_FULL
from tests.servers.postgres import shared_postgres

from kb.engine.ports import Embedder

OWN = ACCEPTED.with_name("own")


def test_search_finds_in_the_own_set_what_it_was_accepted_to_find(embedder: Embedder, tmp_path: Path) -> None:
    scores = measure(load_set(OWN), embedder, tmp_path)

    assert find_faults(scores, read_accepted()["own"]) == []


@pytest.mark.skipif(not IS_FULL, reason="takes half a minute")
def test_search_finds_the_same_on_postgresql(embedder: Embedder, tmp_path: Path) -> None:
    server = shared_postgres()
    database = server.create_database()

    scores = measure(load_set(OWN), embedder, tmp_path, server.url(database))

    server.drop_database(database)
    assert find_faults(scores, read_accepted()["own"]) == []
