from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.api_calls import V1, AddDocument, assert_problem
from tests.originals import path_in

from kb.engine.wiring import Engine

DOCUMENT_FIELDS = {
    *("id", "uuid", "title", "doc_type", "format", "filename", "source_path", "size_bytes", "content_hash", "tags"),
    *("metadata", "processing_method", "processing_status", "chunk_count", "version", "created_at", "updated_at"),
}
CLEAR = {"confirm": True, "confirmation_phrase": "DELETE ALL"}


def found(api: TestClient, query: str) -> list[int]:
    results = api.post(f"{V1}/search", json={"query": query, "mode": "fts"}).json()["results"]
    return [result["document_id"] for result in results]


def test_e10_documents_are_listed_most_recent_first(api: TestClient, add_note: AddDocument) -> None:
    first, second, third = add_note("one"), add_note("two"), add_note("three")
    api.post(f"{V1}/documents/{first['id']}/tags", json={"tags": ["x"]})

    listed = api.get(f"{V1}/documents").json()

    assert [document["id"] for document in listed["documents"]] == [first["id"], third["id"], second["id"]]
    assert (listed["total"], listed["limit"], listed["offset"]) == (3, 100, 0)
    assert set(listed["documents"][0]) == DOCUMENT_FIELDS


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"sort": "title"}, ["Apple", "banana", "Cherry"]),
        ({"sort": "title", "order": "desc"}, ["Cherry", "banana", "Apple"]),
        ({"sort": "size"}, ["Apple", "Cherry", "banana"]),
        ({"sort": "date_added", "order": "asc"}, ["banana", "Cherry", "Apple"]),
        ({"sort": "filename", "limit": 1, "offset": 1}, ["banana"]),
        ({"doc_type": "note", "sort": "title"}, ["banana", "Cherry"]),
        ({"format": "txt"}, ["Apple"]),
        ({"source_path": "/f/apple.txt"}, ["Apple"]),
        ({"tag": "x", "sort": "title"}, ["Apple", "banana"]),
        ({"tag": ["x", "y"]}, ["Apple"]),
        ({"q": "HERR"}, ["Cherry"]),
        ({"q": "/f/"}, ["Apple"]),
        ({"q": "%"}, []),
    ],
)
def test_e10_documents_are_listed_by_what_they_are(
    api: TestClient,
    add_note: AddDocument,
    add_file: AddDocument,
    parameters: dict[str, str | int | list[str]],
    names: list[str],
) -> None:
    add_note("1", title="banana", tags=["x"])
    add_note("22", title="Cherry")
    add_file("a longer text", "apple.txt", title="Apple", tags=["x", "y"], source_path="/f/apple.txt")

    listed = api.get(f"{V1}/documents", params=parameters).json()

    assert [document["title"] for document in listed["documents"]] == names


@pytest.mark.parametrize(
    "parameters",
    [
        *({"limit": limit} for limit in ("0", "-1", "1001", "x", "", "1.5", "9" * 5000)),
        *({"offset": offset} for offset in ("-1", "x", "1e3", "9" * 30)),
        {"sort": "rank"},
        {"order": "up"},
        {"tags": "x"},
        {"q": "a\u0000b"},
        {"tag": "\u0000"},
        {"source_path": "\u0000"},
    ],
)
def test_e3_a_list_refuses_parameters_that_make_no_sense(api: TestClient, parameters: dict[str, str]) -> None:
    assert_problem(api.get(f"{V1}/documents", params=parameters), 422, "invalid_request")


def test_e11_a_note_is_read_with_its_chunks_and_text(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("# Seals\n\nThey swim.\n\n# Walruses\n\nThey rest.", tags=["t"])

    response = api.get(f"{V1}/documents/{note['uuid']}")

    body = response.json()
    assert set(body) == DOCUMENT_FIELDS | {"chunks", "text"}
    assert response.headers["etag"] == '"1"'
    assert body["text"] == "# Seals\n\nThey swim.\n\n# Walruses\n\nThey rest."
    assert [set(chunk) for chunk in body["chunks"]] == [{"id", "uuid", "ordinal", "text", "page_num", "heading"}] * 2
    assert [(chunk["ordinal"], chunk["heading"]) for chunk in body["chunks"]] == [(0, "Seals"), (1, "Walruses")]
    assert (body["processing_status"], body["processing_method"]) == ("completed", "text_extraction")
    assert body["content_hash"].startswith("sha256:")


def test_e11_chunks_can_be_left_out_or_read_by_the_page(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("\n\n".join(f"# Part {number}\n\nText {number}." for number in range(5)))
    path = f"{V1}/documents/{note['id']}"

    without = api.get(path, params={"chunks": "false"}).json()
    page = api.get(path, params={"chunk_limit": 2, "chunk_offset": 3}).json()

    assert "chunks" not in without
    assert without["chunk_count"] == 5
    assert [chunk["ordinal"] for chunk in page["chunks"]] == [3, 4]


@pytest.mark.parametrize("path", ["", "/file"])
@pytest.mark.parametrize("ref", ["42", "9223372036854775808", "5b1f7cf8-6f0e-4d43-a9d7-0d6c9a4c0c11"])
def test_e11_what_is_not_there_is_not_found(api: TestClient, ref: str, path: str) -> None:
    problem = assert_problem(api.get(f"{V1}/documents/{ref}{path}"), 404, "document_not_found")

    assert problem["document_id"] == ref


@pytest.mark.parametrize("ref", ["x", "-1", "1.0", "9" * 20, "5b1f7cf8", "1%00", "%20", "٣"])
def test_e11_what_is_no_id_is_refused(api: TestClient, ref: str) -> None:
    assert_problem(api.get(f"{V1}/documents/{ref}"), 422, "invalid_request")


def test_e12_title_and_metadata_of_any_document_can_be_changed(api: TestClient, add_file: AddDocument) -> None:
    document = add_file("Walruses rest.", metadata='{"a": 1}')

    response = api.patch(
        f"{V1}/documents/{document['id']}", json={"title": "Pinnipeds", "metadata": {"b": [True, None]}}
    )

    changed = response.json()
    assert (changed["title"], changed["metadata"]) == ("Pinnipeds", {"b": [True, None]})
    assert (changed["version"], response.headers["etag"]) == (2, '"2"')
    assert changed["updated_at"] is not None
    assert found(api, "pinniped") == [document["id"]]


def test_e12_a_document_moves_with_its_file_and_is_listed_in_its_folder(api: TestClient, add_file: AddDocument) -> None:
    document = add_file("Walruses rest.", source_path="/old/walrus.md")

    moved = api.patch(f"{V1}/documents/{document['id']}", json={"source_path": "/new/walrus.md"}).json()

    assert (moved["id"], moved["source_path"]) == (document["id"], "/new/walrus.md")
    listed = {
        folder: api.get(f"{V1}/documents", params={"source_folder": folder}).json() for folder in ("/old", "/new")
    }
    assert (listed["/old"]["total"], listed["/new"]["documents"]) == (0, [moved])


def test_e12_a_path_that_another_document_has_is_a_conflict(api: TestClient, add_file: AddDocument) -> None:
    add_file("Walruses rest.", source_path="/a.md")
    document = add_file("Seals dive.", source_path="/b.md")

    problem = api.patch(f"{V1}/documents/{document['id']}", json={"source_path": "/a.md"})

    assert_problem(problem, 409, "conflict")


@pytest.mark.parametrize("folder", ["", "a" * 4097, "a\x00"])
def test_e10_what_is_no_folder_is_refused(api: TestClient, folder: str) -> None:
    assert_problem(api.get(f"{V1}/documents", params={"source_folder": folder}), 422, "invalid_request")


def test_e22_a_patch_that_changes_nothing_is_no_change(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("text", title="Same", metadata={"a": 1})

    for body in ({}, {"title": "Same"}, {"metadata": {"a": 1}}, {"title": None, "metadata": None}):
        changed = api.patch(f"{V1}/documents/{note['id']}", json=body).json()
        assert (changed["version"], changed["updated_at"]) == (1, None)

    assert api.patch(f"{V1}/documents/{note['id']}", json={"metadata": {"a": True}}).json()["version"] == 2


@pytest.mark.parametrize("etag", ['"2"', '"0"', 'W/"1"', "1", '"abc"', '"1", "2"', "", '"' + "9" * 40 + '"'])
def test_e12_a_stale_etag_is_refused_and_changes_nothing(api: TestClient, add_note: AddDocument, etag: str) -> None:
    note = add_note("text")
    path = f"{V1}/documents/{note['id']}"
    headers = {"If-Match": etag}

    problem = assert_problem(api.patch(path, json={"title": "x"}, headers=headers), 412, "version_conflict")
    assert_problem(api.delete(path, headers=headers), 412, "version_conflict")
    assert_problem(api.put(f"{path}/tags", json={"tags": ["t"]}, headers=headers), 412, "version_conflict")

    assert problem["current_version"] == 1
    assert api.get(path).json() == note


@pytest.mark.parametrize("etag", ['"1"', "*"])
def test_e12_the_etag_that_was_read_is_accepted(api: TestClient, add_note: AddDocument, etag: str) -> None:
    note = add_note("text")

    response = api.patch(f"{V1}/documents/{note['id']}", json={"title": "x"}, headers={"If-Match": etag})

    assert response.status_code == 200


@pytest.mark.parametrize("name", ["Plän <b>.txt", 'quo"te;x=.md', "a\r\nSet-Cookie: x.txt", "日本.txt"])
def test_e13_the_original_comes_back_as_a_download(api: TestClient, add_file: AddDocument, name: str) -> None:
    content = "<script>alert(1)</script> some text"
    document = add_file(content, name)

    response = api.get(f"{V1}/documents/{document['id']}/file")

    assert response.content == content.encode()
    assert response.headers["content-type"] == "application/octet-stream"
    disposition = response.headers["content-disposition"]
    assert disposition == f"attachment; filename*=UTF-8''{quote(document['filename'], safe='')}"
    assert "set-cookie" not in response.headers


def test_e13_a_note_comes_back_as_text(api: TestClient, add_note: AddDocument) -> None:
    note = add_note("<b>naïve</b> \U0001f9ab")

    response = api.get(f"{V1}/documents/{note['id']}/file")

    assert response.text == "<b>naïve</b> \U0001f9ab"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["x-content-type-options"] == "nosniff"


def test_e13_an_original_that_the_disk_has_lost_is_told(api: TestClient, add_file: AddDocument, engine: Engine) -> None:
    document = add_file("soon lost")
    path_in(engine.originals, document["content_hash"].removeprefix("sha256:")).unlink()

    response = api.get(f"{V1}/documents/{document['id']}/file")

    assert_problem(response, 404, "not_found")


def test_e14_a_document_goes_with_everything_that_belongs_to_it(
    api: TestClient, add_file: AddDocument, engine: Engine
) -> None:
    document = add_file("A solitary walrus.", tags=["t"], title="Solitude")
    original = path_in(engine.originals, document["content_hash"].removeprefix("sha256:"))
    assert original.exists()

    response = api.delete(f"{V1}/documents/{document['uuid']}")

    assert response.json() == {
        "status": "deleted",
        "document_id": document["id"],
        "title": "Solitude",
        "chunks_removed": 1,
    }
    assert not original.exists()
    assert found(api, "walrus") == []
    assert api.get(f"{V1}/tags").json()["tags"] == []
    status = api.get(f"{V1}/status").json()
    assert (status["documents"]["total"], status["chunks"], status["vectors"]) == (0, 0, 0)
    assert_problem(api.delete(f"{V1}/documents/{document['id']}"), 404, "document_not_found")


def test_e14_an_original_stays_while_another_document_has_it(
    api: TestClient, add_file: AddDocument, engine: Engine
) -> None:
    first = add_file("shared bytes", source_path="/a")
    second = add_file("shared bytes", source_path="/b")
    original = path_in(engine.originals, first["content_hash"].removeprefix("sha256:"))

    api.delete(f"{V1}/documents/{first['id']}")
    assert api.get(f"{V1}/documents/{second['id']}/file").text == "shared bytes"
    api.delete(f"{V1}/documents/{second['id']}")

    assert not original.exists()


def test_e15_everything_is_cleared(api: TestClient, add_note: AddDocument, add_file: AddDocument) -> None:
    add_note("four", tags=["t"])
    add_file("eleven more")

    response = api.request("DELETE", f"{V1}/documents", json=CLEAR)

    assert response.json() == {"documents_removed": 2, "embeddings_removed": 2, "bytes_freed": 4 + 11}
    assert api.get(f"{V1}/documents").json()["total"] == 0
    assert found(api, "four") == []


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"confirm": False, "confirmation_phrase": "DELETE ALL"}, 409, "confirmation_required"),
        ({"confirm": True, "confirmation_phrase": "delete all"}, 409, "confirmation_required"),
        ({"confirm": True, "confirmation_phrase": ""}, 409, "confirmation_required"),
        ({"confirm": True}, 422, "invalid_request"),
        ({"confirm": "true", "confirmation_phrase": "DELETE ALL"}, 422, "invalid_request"),
        ({"confirm": 1, "confirmation_phrase": "DELETE ALL"}, 422, "invalid_request"),
        ({**CLEAR, "also": 1}, 422, "invalid_request"),
        ({}, 422, "invalid_request"),
        ([], 422, "invalid_request"),
        (None, 422, "invalid_request"),
    ],
)
def test_e15_nothing_is_cleared_without_the_exact_words(
    api: TestClient, add_note: AddDocument, body: object, status: int, code: str
) -> None:
    note = add_note("precious")

    assert_problem(api.request("DELETE", f"{V1}/documents", json=body), status, code)

    assert api.get(f"{V1}/documents/{note['id']}").json() == note
