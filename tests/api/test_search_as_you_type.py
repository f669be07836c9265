"""W1: searching while the last word is still being typed."""

import pytest
from starlette.testclient import TestClient
from tests.api_calls import V1, AddDocument, Json, assert_problem


def search(api: TestClient, query: str, **fields: object) -> Json:
    response = api.post(f"{V1}/search", json={"query": query, **fields})
    assert response.status_code == 200, response.text
    body: Json = response.json()
    return body


@pytest.fixture
def cluster(add_note: AddDocument) -> int:
    """The number of a document that is found by what may become of `kuber`."""
    add_note("The walrus rests on the ice.")
    number: int = add_note("Pods are placed by Kubernetes on the nodes.")["id"]
    return number


@pytest.mark.parametrize("mode", ["fts", "hybrid"])
@pytest.mark.parametrize("query", ["kuber", "ku", "nodes kuber", '"the nodes" kubern'])
def test_w1_the_last_word_finds_and_marks_what_begins_with_it(
    api: TestClient, cluster: int, query: str, mode: str
) -> None:
    best = search(api, query, mode=mode, complete_last_word=True)["results"][0]

    assert best["document_id"] == cluster
    assert "**Kubernetes**" in best["snippet"]
    assert best["scores"]["fts"] > 0


@pytest.mark.parametrize("query", ["kuber ", '"kuber"', "kuber nodal", "k", "walrus -kuber", "kuber."])
def test_w1_a_word_that_is_complete_is_taken_as_it_is(api: TestClient, cluster: int, query: str) -> None:
    found = search(api, query, mode="fts", complete_last_word=True)["results"]

    assert cluster not in [result["document_id"] for result in found]


def test_w1_no_word_is_completed_unless_it_is_asked_for(api: TestClient, cluster: int) -> None:
    assert search(api, "kuber", mode="fts")["results"] == []
    assert search(api, "kuber", mode="fts", complete_last_word=False)["results"] == []


def test_w1_another_spelling_is_suggested_only_for_what_nothing_begins_with(api: TestClient, cluster: int) -> None:
    assert search(api, "walru", complete_last_word=True)["suggestion"] is None
    assert search(api, "kuber", complete_last_word=True)["suggestion"] is None
    assert search(api, "walrux", complete_last_word=True)["suggestion"] == "walrus"


def test_e2_the_flag_is_true_or_false(api: TestClient) -> None:
    body = {"query": "kuber", "complete_last_word": "perhaps"}

    assert_problem(api.post(f"{V1}/search", json=body), 422, "invalid_request")
