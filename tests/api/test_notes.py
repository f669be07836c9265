"""E17: a note is rewritten in place, in one transaction or not at all."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from tests.api_calls import OPEN, V1, AddDocument, Json, assert_problem

from kb.engine.api.app import create_app
from kb.engine.errors import Unavailable
from kb.engine.model import Computing, EmbeddingModel, Vector, Vectors
from kb.engine.ports import Embedder
from kb.engine.wiring import Engine


class FailingEmbedder:
    """An embedder that is there but cannot embed."""

    def __init__(self, working: Embedder) -> None:
        self._working = working
        self.is_ready = True
        self.failure = None
        self.computing = Computing()

    @property
    def model(self) -> EmbeddingModel:
        return self._working.model

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        raise Unavailable("The embedding model has run away.")

    def embed_query(self, text: str) -> Vector:
        return self._working.embed_query(text)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return self._working.token_spans(text)


def rewrite(api: TestClient, note: Json, text: str, **fields: object) -> Json:
    response = api.patch(f"{V1}/notes/{note['id']}", json={"text": text, **fields})
    assert response.status_code == 200, response.text
    body: Json = response.json()
    return body


def found(api: TestClient, query: str, mode: str = "hybrid") -> list[str]:
    results = api.post(f"{V1}/search", json={"query": query, "mode": mode}).json()["results"]
    return [result["text"] for result in results]


def test_e17_the_new_text_is_found_and_the_old_one_is_not(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("The walrus rests.", tags=["t"], metadata={"k": 1}, source_path="/n.md")

    response = api.patch(f"{V1}/notes/{note['id']}", json={"text": "The otter swims."})

    changed = response.json()
    assert response.headers["etag"] == '"2"'
    assert (changed["id"], changed["uuid"], changed["created_at"]) == (note["id"], note["uuid"], note["created_at"])
    assert (changed["text"], changed["version"]) == ("The otter swims.", 2)
    assert changed["content_hash"] != note["content_hash"]
    assert changed["updated_at"] > note["created_at"]
    assert (changed["tags"], changed["metadata"], changed["source_path"]) == (["t"], {"k": 1}, "/n.md")
    assert changed == api.get(f"{V1}/documents/{note['id']}").json()
    assert found(api, "walrus", "fts") == []
    assert found(api, "otter", "fts") == found(api, "an animal in water", "vector") == ["The otter swims."]


def test_e17_title_and_tags_may_be_given_too(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("One.", tags=["a"])

    changed = rewrite(api, note, "Two.", title="Second", tags=["b", "c"])

    assert (changed["title"], changed["tags"]) == ("Second", ["b", "c"])


def test_i7_a_derived_title_follows_the_text(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("# First title\n\nBody.")

    changed = rewrite(api, note, "# Second title\n\nBody.")

    assert (note["title"], changed["title"]) == ("First title", "Second title")
    assert changed["filename"] == "Second title.md"


@pytest.mark.parametrize("when", ["added", "patched", "rewritten"])
def test_i7_a_given_title_stays(api: TestClient, add_note: AddDocument, when: str) -> None:
    note = add_note("First line.", **({"title": "Given"} if when == "added" else {}))
    if when == "patched":
        api.patch(f"{V1}/documents/{note['id']}", json={"title": "Given"})
    if when == "rewritten":
        rewrite(api, note, "First line.", title="Given")

    changed = rewrite(api, note, "Another line.")

    assert changed["title"] == "Given"


def test_e17_an_unknown_note_is_not_found(api: TestClient) -> None:
    assert_problem(api.patch(f"{V1}/notes/42", json={"text": "x"}), 404, "document_not_found")


def test_e17_a_file_is_not_a_note(api: TestClient, add_file: AddDocument) -> None:
    document = add_file("The walrus rests.")

    response = api.patch(f"{V1}/notes/{document['id']}", json={"text": "x"})

    assert_problem(response, 409, "not_a_note")
    assert api.get(f"{V1}/documents/{document['id']}").json() == document


def test_e17_a_long_note_becomes_several_chunks_and_loses_no_text(
    api: TestClient, add_note: AddDocument, embedder: Embedder
) -> None:
    note = add_note("Short.")
    sentences = [f"Sentence {number} tells of the daily catch of herring in the bay." for number in range(160)]
    last = "At the very end a lighthouse keeper finds a pearl."
    text = " ".join([*sentences, last])
    assert len(text.split()) > 1_900

    changed = rewrite(api, note, text)

    chunks = [chunk["text"] for chunk in changed["chunks"]]
    assert len(chunks) == changed["chunk_count"] > 5
    assert " ".join(chunks) == text == changed["text"]
    assert all(len(embedder.token_spans(chunk)) < embedder.model.window for chunk in chunks)
    assert found(api, "lighthouse pearl", "fts") == [chunks[-1]]
    assert found(api, "who discovers a jewel beside the sea?", "vector")[0] == chunks[-1]


def test_e17_a_note_whose_embedding_fails_is_untouched_and_still_found(
    engine: Engine, api: TestClient, add_note: AddDocument
) -> None:
    note = add_note("The walrus rests.")
    broken = replace(engine, embedder=FailingEmbedder(engine.embedder))

    with TestClient(create_app(broken, OPEN), raise_server_exceptions=False) as broken_api:
        response = broken_api.patch(f"{V1}/notes/{note['id']}", json={"text": "The otter swims."})

    assert_problem(response, 503, "unavailable")
    assert response.headers["retry-after"]
    assert api.get(f"{V1}/documents/{note['id']}").json() == note
    assert found(api, "walrus", "fts") == found(api, "walrus", "vector") == ["The walrus rests."]
    assert found(api, "otter", "fts") == []


def test_e17_a_stale_etag_changes_nothing(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("First.")
    current = rewrite(api, note, "Second.")

    response = api.patch(f"{V1}/notes/{note['id']}", json={"text": "Third."}, headers={"If-Match": '"1"'})

    assert assert_problem(response, 412, "version_conflict")["current_version"] == 2
    assert api.get(f"{V1}/documents/{note['id']}").json() == current


class InterruptingEmbedder(FailingEmbedder):
    """An embedder during whose first work something else happens."""

    def __init__(self, working: Embedder, interruption: Callable[[], object]) -> None:
        super().__init__(working)
        self._interruptions = [interruption]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        while self._interruptions:
            self._interruptions.pop()()
        return self._working.embed_passages(texts)


def test_e17_a_title_given_while_the_note_is_being_rewritten_is_not_lost(
    engine: Engine, api: TestClient, add_note: AddDocument
) -> None:
    note = add_note("The walrus rests.")
    address = f"{V1}/documents/{note['id']}"
    slow = InterruptingEmbedder(engine.embedder, lambda: api.patch(address, json={"title": "Arctic"}))

    with TestClient(create_app(replace(engine, embedder=slow), OPEN)) as slow_api:
        rewritten = rewrite(slow_api, note, "The otter swims.")

    assert (rewritten["title"], rewritten["text"], rewritten["version"]) == ("Arctic", "The otter swims.", 3)


def test_e17_of_many_writers_with_one_etag_exactly_one_wins(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("At first.")
    path, headers = f"{V1}/notes/{note['id']}", {"If-Match": '"1"'}

    with ThreadPoolExecutor(6) as threads:
        responses = list(threads.map(lambda n: api.patch(path, json={"text": f"By {n}."}, headers=headers), range(6)))

    statuses = sorted(response.status_code for response in responses)
    assert statuses == [200, *[412] * 5]
    winner = next(response.json() for response in responses if response.status_code == 200)
    assert api.get(f"{V1}/documents/{note['id']}").json() == winner
    assert found(api, "first", "fts") == []


@pytest.mark.parametrize(
    "text", ["#", "---", "***", "```\n```", "\u200b", "\u200b\u200b\n", ".", "🦫", "a", "<!-- x -->", "[]()", "|"]
)
def test_e17_a_note_of_hardly_anything_is_still_a_note(api: TestClient, add_note: AddDocument, text: str) -> None:
    note = add_note("Something.")

    changed = rewrite(api, note, text)

    assert changed["text"] == text
    assert changed["title"]
    assert changed["chunk_count"] >= 1


@pytest.mark.parametrize(
    "body",
    [
        *(
            {"text": text}
            for text in ("", " ", "\n\t", "\u001c", "\u3000", "a\u0000b", 1, None, ["a"], "x" * 1_000_001)
        ),
        {},
        {"text": "x", "title": ""},
        {"text": "x", "tags": "a"},
        {"text": "x", "tags": [""]},
        {"text": "x", "tags": ["\u001c"]},
        {"text": "x", "metadata": {}},
    ],
)
def test_e17_a_rewrite_that_makes_no_sense_changes_nothing(
    api: TestClient, add_note: AddDocument, body: object
) -> None:
    note = add_note("Something.")

    assert_problem(api.patch(f"{V1}/notes/{note['id']}", json=body), 422, "invalid_request")

    assert api.get(f"{V1}/documents/{note['id']}").json() == note
