from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.api_calls import V1, AddDocument, Json, assert_problem

from kb.engine.api.search import SearchAnswer

HIT_FIELDS = {
    *("chunk_id", "chunk_uuid", "document_id", "document_uuid", "title", "filename", "source_path", "doc_type"),
    *("format", "tags", "metadata", "text", "snippet", "page_num", "heading", "score", "relevance", "scores"),
    *("created_at", "updated_at"),
}


def search(api: TestClient, query: str, **fields: object) -> Json:
    response = api.post(f"{V1}/search", json={"query": query, **fields})
    assert response.status_code == 200, response.text
    body: Json = response.json()
    return body


def found(api: TestClient, query: str, **fields: object) -> list[int]:
    return [result["document_id"] for result in search(api, query, **fields)["results"]]


@pytest.fixture
def library(add_note: AddDocument, add_file: AddDocument) -> dict[str, int]:
    """Documents by a short name."""
    return {
        "walrus": add_note("The walrus rests on the ice.", tags=["sea", "ice"], metadata={"n": 1, "s": "1"})["id"],
        "otter": add_note("The otter swims in the river.", tags=["river"], metadata={"n": True})["id"],
        "bread": add_file("Bake the bread for an hour.", "bread.md", tags=["food"], source_path="/b.md")["id"],
        "seal": add_note("The seal sleeps on the ice.", tags=["sea"], metadata={"n": 1.5})["id"],
    }


@pytest.mark.parametrize(
    "fields", [{}, {"mode": "hybrid"}, {"mode": "fts"}, {"fts_only": True}, {"mode": "vector"}, {"vec_only": True}]
)
def test_s1_each_mode_finds_what_is_meant(api: TestClient, library: dict[str, int], fields: Json) -> None:
    assert found(api, "walrus", **fields)[0] == library["walrus"]


def test_s1_meaning_is_found_without_any_common_word(api: TestClient, library: dict[str, int]) -> None:
    assert found(api, "recipe for a loaf", mode="vector")[0] == library["bread"]
    assert found(api, "recipe for a loaf")[0] == library["bread"]
    assert found(api, "recipe loaf", mode="fts") == []


def test_s2_a_result_tells_all_about_itself(api: TestClient, library: dict[str, int]) -> None:
    answer = search(api, "walrus on ice")

    best = answer["results"][0]
    assert set(answer) == {"results", "total", "took_ms", "degraded", "suggestion"}
    assert set(best) == HIT_FIELDS
    assert best["document_id"] == library["walrus"]
    assert (best["title"], best["tags"]) == ("The walrus rests on the ice.", ["sea", "ice"])
    assert best["snippet"] == "The **walrus** rests on the **ice**."
    assert 0 < best["relevance"] <= 1
    assert best["scores"]["fts"] > 0
    assert best["scores"]["vector"] > 0.5
    assert answer["total"] == len(answer["results"]) == 4
    assert answer["took_ms"] > 0
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)


def test_an_answer_is_just_what_the_description_promises(api: TestClient, library: dict[str, int]) -> None:
    api.patch(f"{V1}/documents/{library['seal']}", json={"metadata": {"größe": [1.5, None, {"tief": True}]}})

    for fields in ({}, {"mode": "fts"}, {"mode": "vector"}, {"min_relevance": 1}):
        content = api.post(f"{V1}/search", json={"query": "the seal on the ice", **fields}).content
        assert SearchAnswer.model_validate_json(content, strict=True).model_dump_json().encode() == content


def test_s2_relevance_can_be_compared_between_queries(api: TestClient, library: dict[str, int]) -> None:
    good = search(api, "where does the walrus rest?")["results"][0]["relevance"]
    hopeless = search(api, "quarterly tax declaration")["results"][0]["relevance"]

    assert good > 2 * hopeless
    assert found(api, "quarterly tax declaration", min_relevance=(good + hopeless) / 2) == []


def test_s2_a_floor_at_the_relevance_of_a_result_lets_it_through(api: TestClient, library: dict[str, int]) -> None:
    everything = search(api, "animal on the ice")["results"]

    for result in everything:
        assert result["document_id"] in found(api, "animal on the ice", min_relevance=result["relevance"])


def test_s1_results_come_in_pages(api: TestClient, library: dict[str, int]) -> None:
    everything = found(api, "animal on the ice")

    pages = [found(api, "animal on the ice", top=2, offset=offset) for offset in (0, 2, 4)]

    assert [document_id for page in pages for document_id in page] == everything
    assert len(everything) == 4


def test_s1_results_can_be_one_a_document(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("# Walrus one\n\nA walrus.\n\n# Walrus two\n\nA walrus.")
    other = add_note("A walrus too.")

    by_chunk = found(api, "walrus")
    by_document = found(api, "walrus", group_by="document")

    assert sorted(by_chunk) == [note["id"], note["id"], other["id"]]
    assert sorted(by_document) == [note["id"], other["id"]]


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"tags": ["sea"]}, {"walrus", "seal"}),
        ({"tags": ["sea", "ice"]}, {"walrus"}),
        ({"tags": ["sea", "river"]}, set()),
        ({"filters": {"format": "md"}}, {"bread"}),
        ({"filters": {"doc_type": "note"}}, {"walrus", "otter", "seal"}),
        ({"filters": {"source_path": "/b.md"}}, {"bread"}),
        ({"filters": {"metadata": {"n": 1}}}, {"walrus"}),
        ({"filters": {"metadata": {"n": True}}}, {"otter"}),
        ({"filters": {"metadata": {"n": 1.5}}}, {"seal"}),
        ({"filters": {"metadata": {"s": "1"}}}, {"walrus"}),
        ({"filters": {"metadata": {"s": None}}}, set()),
        ({"filters": {"date_range": {"end": "2020-12-31"}}}, set()),
        ({"filters": {"date_range": {"start": "2020-12-31"}}}, {"walrus", "otter", "bread", "seal"}),
        ({"filters": {}}, {"walrus", "otter", "bread", "seal"}),
        ({"filters": {"format": None, "date_range": None, "metadata": None}}, {"walrus", "otter", "bread", "seal"}),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_s1_filters_limit_what_is_found(
    api: TestClient, library: dict[str, int], fields: Json, names: set[str], mode: str
) -> None:
    assert set(found(api, "ice", mode=mode, **fields)) == {library[name] for name in names}


def test_s1_both_ends_of_a_range_of_days_are_in_it(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("The walrus rests.")
    day = note["created_at"][:10]

    found_that_day = found(api, "walrus", filters={"date_range": {"start": day, "end": day}})

    assert found_that_day == [note["id"]]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": " \n"},
        {"query": "\u001c"},
        {"query": "x" * 10_001},
        {"query": 1},
        {"query": None},
        {"query": ["x"]},
        {"query": "x", "mode": "semantic"},
        {"query": "x", "mode": "fts", "vec_only": True},
        {"query": "x", "mode": "hybrid", "fts_only": True},
        {"query": "x", "fts_only": True, "vec_only": True},
        {"query": "x", "fts_only": "true"},
        {"query": "x", "top": 0},
        {"query": "x", "top": 201},
        {"query": "x", "top": "5"},
        {"query": "x", "top": True},
        {"query": "x", "offset": -1},
        {"query": "x", "offset": 10**30},
        {"query": "x", "min_relevance": 1.1},
        {"query": "x", "min_relevance": "0.5"},
        {"query": "x", "min_relevance": True},
        {"query": "x", "group_by": "page"},
        {"query": "x", "tags": "a"},
        {"query": "x", "limit": 5},
        {"query": "x", "tags": [f"t{n}" for n in range(101)]},
        {"query": "x", "filters": {"metadata": {f"k{n}": n for n in range(101)}}},
        {"query": "x", "filters": []},
        {"query": "x", "filters": {"tags": []}},
        {"query": "x", "filters": {"format": 1}},
        {"query": "x", "filters": {"metadata": {"a": {}}}},
        {"query": "x", "filters": {"metadata": {"a": 10**400}}},
        {"query": "x", "filters": {"date_range": {"start": "yesterday"}}},
        {"query": "x", "filters": {"date_range": {"start": 0}}},
        {"query": "x", "filters": {"date_range": {"start": "0"}}},
        {"query": "x", "filters": {"date_range": {"start": "2026-02-30"}}},
        {"query": "x", "filters": {"date_range": {"start": "2026-02-01T00:00:00Z"}}},
        {"query": "x", "filters": {"date_range": {"from": "2026-02-01"}}},
    ],
)
def test_s1_a_search_that_makes_no_sense_is_refused(api: TestClient, body: object) -> None:
    assert_problem(api.post(f"{V1}/search", json=body), 422, "invalid_request")


def test_s1_as_many_conditions_as_are_allowed_are_answered(api: TestClient, library: dict[str, int]) -> None:
    tags = [f"t{n}" for n in range(100)]
    metadata = {f"k{n}": n for n in range(100)}

    assert found(api, "ice", tags=tags, filters={"metadata": metadata}) == []


def test_s4_a_phrase_must_be_there_and_a_word_must_not(api: TestClient, library: dict[str, int]) -> None:
    assert found(api, '"sleeps on the ice"') == [library["seal"]]
    assert set(found(api, "ice -walrus")) == {library["seal"], library["otter"], library["bread"]}
    assert found(api, "ice -walrus", mode="fts") == [library["seal"]]
    assert found(api, 'ice -"on the ice"', mode="fts") == []
    assert library["walrus"] not in found(api, "ice -walrus", mode="vector")


def test_s4_a_misspelling_comes_back_as_a_suggestion_and_the_query_is_not_changed(
    api: TestClient, library: dict[str, int]
) -> None:
    misspelt = search(api, "slepping wlarus", mode="fts")
    right = search(api, "sleeping walrus", mode="fts")

    assert misspelt["suggestion"] is not None
    assert "walrus" in misspelt["suggestion"]
    assert misspelt["results"] == []
    assert right["suggestion"] is None


def test_s5_nothing_deleted_or_replaced_is_found(api: TestClient, library: dict[str, int]) -> None:
    api.delete(f"{V1}/documents/{library['walrus']}")
    api.patch(f"{V1}/notes/{library['seal']}", json={"text": "Nothing of the kind."})

    for mode in ("hybrid", "fts", "vector"):
        results = search(api, "walrus or seal on the ice", mode=mode)["results"]
        assert not {result["text"] for result in results} & {
            "The walrus rests on the ice.",
            "The seal sleeps on the ice.",
        }


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们在北京大学学习机器学习", "机器学习"),
        ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
        ("서울에서 회의", "서울"),
        ("El niño", "nino"),
    ],
)
def test_s6_every_script_is_found_by_keyword(api: TestClient, add_note: AddDocument, text: str, query: str) -> None:
    note = add_note(text)

    assert found(api, query, mode="fts") == [note["id"]]


OPERATORS = ["AND", "OR", "NOT", "NEAR", "NEAR(", ")", "(", '"', '""', "*", "^", "-", "+", ":", "{", "}", "title:"]
OPERATORS += ["-title", "{title body}:", "a*", "^a", "'", "''", "\\", ";", "--", "%", "_", "\U0001f9ab", "日本", "٣"]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    query=st.one_of(
        st.text(min_size=1, max_size=200),
        st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=12).map(" ".join),
        st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=12).map("".join),
    ).filter(lambda text: text.strip() and "\0" not in text),
    mode=st.sampled_from(["hybrid", "fts"]),
)
@example(query='"', mode="fts")
@example(query="-", mode="hybrid")
@example(query='-"" ""', mode="hybrid")
@example(query="\U00010fff", mode="hybrid")
def test_s4_any_text_is_a_legal_query(api: TestClient, library: dict[str, int], query: str, mode: str) -> None:
    response = api.post(f"{V1}/search", json={"query": query, "mode": mode})

    assert response.status_code == 200, response.text


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(("NEAR(" * 2000)[:10_000], id="near"),
        pytest.param(" AND ".join(f'"w{n}"' for n in range(10_000))[:10_000], id="phrases"),
        pytest.param(" ".join(f"-w{n}" for n in range(10_000))[:10_000], id="exclusions"),
        pytest.param("x " + " ".join(f"-w{n}" for n in range(10_000))[:9_990], id="word-and-exclusions"),
        pytest.param(" ".join(f"w{n}" for n in range(10_000))[:10_000], id="words"),
        pytest.param('"' * 10_000, id="quotes"),
        pytest.param("(" * 10_000, id="brackets"),
        pytest.param("日" * 10_000, id="unspaced"),
        pytest.param('"' + "日本 " * 3_000 + '"', id="unspaced-phrase"),
        pytest.param("a" * 10_000, id="one-word"),
        pytest.param("*^:-" * 2_500, id="operators"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "fts", "vector"])
def test_s4_the_longest_query_is_answered_in_time(
    api: TestClient, add_note: AddDocument, query: str, mode: str
) -> None:
    add_note("A walrus w1 w2 w3 日本.")

    answer: dict[str, Any] = search(api, query, mode=mode)

    assert answer["took_ms"] < 5_000


def test_pages_of_a_long_result_fit_together(api: TestClient, add_note: AddDocument) -> None:
    """S1: no hit twice, none left out, the same total on each page."""
    add_note("\n\n".join(f"# Walrus {number}\n\nThe walrus number {number} rests." for number in range(260)))

    pages = [
        api.post(f"{V1}/search", json={"query": "walrus rests", "top": 50, "offset": offset}).json()
        for offset in range(0, 450, 50)
    ]

    found_ids = [hit["chunk_id"] for page in pages for hit in page["results"]]
    assert len(found_ids) == len(set(found_ids)) == pages[0]["total"]
    assert len({page["total"] for page in pages}) == 1


def test_a_long_document_does_not_keep_others_out_when_documents_are_wanted(
    api: TestClient, add_note: AddDocument
) -> None:
    """S1, S3: every document that matches is there, however many chunks the first one has."""
    add_note("\n\n".join(f"# Walrus {number}\n\nThe walrus rests." for number in range(260)))
    others = {add_note(f"Among other things, a walrus was seen on day {day}.")["id"] for day in range(3)}

    answer = api.post(f"{V1}/search", json={"query": "the walrus rests", "group_by": "document"}).json()

    assert others <= {hit["document_id"] for hit in answer["results"]}
    assert answer["total"] == 4
