"""W1: the map of the base over HTTP."""

import threading
from collections.abc import Callable
from math import dist

import pytest
from starlette.testclient import TestClient
from tests.api_calls import V1, AddDocument, Json

from kb.engine.mapping.mapmaker import Mapmaker
from kb.engine.wiring import Engine

SEA = [
    "Sea otters hold hands while they sleep on the water.",
    "The walrus uses its tusks to climb out of the sea onto the ice.",
    "Seals dive for fish below the ice of the northern sea.",
    "Whales sing to one another across the ocean.",
    "Dolphins and porpoises hunt fish in groups near the coast.",
]
MONEY = [
    "Invoices are due within thirty days of receipt.",
    "The annual budget was approved by the board of directors.",
    "Travel expenses are paid back at the end of the month.",
    "The tax return for the company must be filed by May.",
    "Salaries are transferred on the last bank day of each month.",
]


@pytest.fixture
def make_map(engine: Engine) -> Callable[[], None]:
    """What the worker does when it is idle."""
    return Mapmaker(engine.store, threading.Event()).look


def get_map(api: TestClient, **parameters: int) -> Json:
    answer = api.get(f"{V1}/map", params=parameters)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def places(found: Json) -> dict[int, tuple[float, float]]:
    return {one["id"]: (one["x"], one["y"]) for one in found["documents"]}


def test_w1_an_empty_base_has_an_empty_map(api: TestClient) -> None:
    assert get_map(api) == {"documents": [], "total": 0, "placed": 0, "state": "ready"}


def test_w1_the_map_tells_what_is_drawn_of_each_document(
    api: TestClient, add_note: AddDocument, make_map: Callable[[], None]
) -> None:
    note = add_note(SEA[0], title="Otters", tags=["animals", "sea"])
    before = get_map(api)
    make_map()

    found = get_map(api)

    shown = ("id", "uuid", "title", "doc_type", "format", "tags", "chunk_count", "created_at", "updated_at")
    assert before == {"documents": [], "total": 1, "placed": 0, "state": "computing"}
    assert found == {
        "documents": [{**{name: note[name] for name in shown}, "x": 0.0, "y": 0.0}],
        "total": 1,
        "placed": 1,
        "state": "ready",
    }


def test_w1_documents_lie_by_what_they_say_and_new_ones_beside_their_kin(
    api: TestClient, add_note: AddDocument, make_map: Callable[[], None]
) -> None:
    """With the real model: two topics are two islands."""
    sea = [add_note(text)["id"] for text in SEA]
    money = [add_note(text)["id"] for text in MONEY]
    make_map()
    before = places(get_map(api))

    new = add_note("Penguins swim in the cold ocean and eat fish.")["id"]
    make_map()

    after = places(get_map(api))
    spot = after.pop(new)
    assert after == before
    assert max(dist(spot, after[one]) for one in sea) < min(dist(spot, after[one]) for one in money)
    within = max(dist(after[a], after[b]) for topic in (sea, money) for a in topic for b in topic)
    assert within < min(dist(after[a], after[b]) for a in sea for b in money)
    api.delete(f"{V1}/documents/{sea[0]}")
    assert places(get_map(api)) == {**{one: spot for one, spot in before.items() if one != sea[0]}, new: spot}


def test_of_many_documents_the_most_recent_are_told_as_many_as_asked_for(
    api: TestClient, add_note: AddDocument, make_map: Callable[[], None]
) -> None:
    notes = [add_note(text)["id"] for text in SEA[:3]]
    make_map()

    found = get_map(api, limit=2)

    assert [one["id"] for one in found["documents"]] == [notes[2], notes[1]]
    assert (found["total"], found["placed"]) == (3, 3)


def test_a_map_that_is_still_the_same_is_not_sent_again(
    api: TestClient, add_note: AddDocument, make_map: Callable[[], None]
) -> None:
    note = add_note(SEA[0])
    make_map()
    etag = api.get(f"{V1}/map").headers["ETag"]
    had = {"If-None-Match": etag}

    again = api.get(f"{V1}/map", headers=had)
    fewer = api.get(f"{V1}/map", headers=had, params={"limit": 1})
    api.put(f"{V1}/documents/{note['id']}/tags", json={"tags": ["sea"]})
    changed = api.get(f"{V1}/map", headers=had)

    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert fewer.status_code == 200
    assert changed.status_code == 200
    assert changed.json()["documents"][0]["tags"] == ["sea"]


@pytest.mark.parametrize("limit", ["0", "50001", "many"])
def test_an_impossible_limit_is_refused(api: TestClient, limit: str) -> None:
    answer = api.get(f"{V1}/map", params={"limit": limit})

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
