"""E21: the format of a bundle. Whatever is not one is refused before anything is made of it."""

import hashlib
import math
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bundles import (
    NOW,
    hash_of,
    list_members,
    pack,
    pack_member,
    pack_original,
    portable_file,
    portable_note,
    render_portable,
    unpack,
)

from kb.engine.bundles.reading import MAX_MEMBER_BYTES
from kb.engine.bundles.writing import begin_bundle, end_bundle
from kb.engine.errors import InvalidRequest, KbError, TooLarge, UnsupportedFormat
from kb.engine.model.portable import DocumentRecord, PortableChunk, PortableDocument, PortableRevision

WALRUS = b"The walrus is a file."

# JSON and SQLite hold every character but halves of surrogate pairs.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=10)
tags = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9).filter(str.strip)
times = st.datetimes(timezones=st.just(UTC))
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def documents(draw: st.DrawFn) -> PortableDocument:
    former = draw(st.lists(texts, max_size=3))
    text = draw(texts)
    revisions = [
        PortableRevision(number, draw(texts), draw(st.booleans()), said, hash_of(said.encode()), draw(times))
        for number, said in enumerate(former, start=1)
    ]
    title = draw(texts)
    current = PortableRevision(len(former) + 1, title, draw(st.booleans()), None, hash_of(text.encode()), NOW)
    pages = st.none() | st.integers(0, 2**53)
    chunks = [
        PortableChunk(draw(st.uuids()), draw(texts), draw(st.none() | texts), draw(pages))
        for _ in range(draw(st.integers(0, 3)))
    ]
    return portable_note(
        draw(st.integers(1, 2**53)),
        text,
        uuid=draw(st.uuids()),
        title=title,
        title_is_given=draw(st.booleans()),
        source_path=draw(st.none() | words),
        tags=tuple(draw(st.lists(tags, max_size=3, unique=True))),
        metadata=draw(st.dictionaries(texts, json_values, max_size=3)),
        version=len(former) + 1 + draw(st.integers(0, 5)),
        created_at=draw(times),
        updated_at=draw(st.none() | times),
        vector_model=draw(st.just("") | words),
        revisions=(*revisions, current),
        chunks=tuple(chunks),
    )


def as_comparable(members: list[PortableDocument | bytes]) -> list[Any]:
    return [one if isinstance(one, bytes) else (one.record, one.vectors.tolist()) for one in members]


@settings(deadline=None)
@given(st.lists(documents() | st.binary(max_size=2000), max_size=4), st.integers(1, 3000))
def test_e21_what_is_packed_comes_out_again_however_it_is_cut_on_its_way(
    members: list[PortableDocument | bytes], piece_bytes: int
) -> None:
    bundle = pack(members)

    unpacked = unpack(bundle, piece_bytes=piece_bytes)

    assert as_comparable(unpacked) == as_comparable(members)
    assert pack(unpacked) == bundle


def test_e21_any_program_that_reads_tar_files_reads_a_bundle() -> None:
    bundle = pack([portable_note(), WALRUS])

    names = list_members(bundle)

    assert names[0] == "bundle.json"
    assert names[1].startswith("vectors/")
    assert names[2].startswith("documents/")
    assert names[3] == f"originals/{hashlib.sha256(WALRUS).hexdigest()}"
    assert names[4:] == ["end.json"]


def test_e21_the_page_about_the_format_tells_every_field() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/bundle-format.md").read_text(encoding="utf-8")

    told = {field.name for kind in (DocumentRecord, PortableRevision, PortableChunk) for field in fields(kind)}

    assert {name for name in told if f"`{name}`" not in page} == set()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_e21_a_bundle_that_breaks_off_is_noticed(share: float) -> None:
    bundle = pack([portable_note(), WALRUS])

    with pytest.raises(KbError):
        unpack(bundle[: int(len(bundle) * share)])


def test_e21_no_flipped_bit_brings_in_anything_but_what_was_packed() -> None:
    """Of two thousand, only one in a field that nobody reads may go unnoticed."""
    bundle = pack([portable_note(), WALRUS, portable_file(WALRUS, 2)])
    places = np.random.default_rng(7).integers(0, len(bundle) * 8, size=2000)

    wrong = []
    for place in places.tolist():
        flipped = bytearray(bundle)
        flipped[place // 8] ^= 1 << (place % 8)
        try:
            unpacked = unpack(bytes(flipped))
        except KbError:
            continue
        if as_comparable(unpacked) != as_comparable(unpack(bundle)):
            wrong.append(place)

    assert wrong == []


@pytest.mark.parametrize("body", [b"", b"x", b"\0" * 10_240, b"PK\3\4" * 500, pack_member("readme.txt", b"hello")])
def test_e21_what_is_not_a_bundle_is_told_so(body: bytes) -> None:
    with pytest.raises(UnsupportedFormat, match="not a bundle"):
        unpack(body)


def test_e21_a_bundle_of_a_later_version_is_not_guessed_at() -> None:
    body = pack_member("bundle.json", b'{"format":"kb-bundle","version":2}')

    with pytest.raises(UnsupportedFormat, match="version 2"):
        unpack(body)


@pytest.mark.parametrize(
    "name",
    [
        "../originals/" + "0" * 64,
        "/originals/" + "0" * 64,
        "originals/../../etc/passwd",
        "originals/" + "A" * 64,
        "originals/" + "0" * 63,
        "originals/" + "0" * 64 + "/x",
        "originals/" + "0" * 64 + "\n",
        "documents/note.json",
        "originals/\u00e9",
    ],
)
def test_e21_no_name_but_a_digest_in_its_folder_is_taken(name: str) -> None:
    with pytest.raises(InvalidRequest, match="no bundle has"):
        unpack(begin_bundle() + pack_member(name, b"x") + end_bundle(documents=0, originals=1))


@pytest.mark.parametrize("kind", [b"1", b"2", b"3", b"5", b"6", b"g", b"x", b"L", b"S"])
def test_e21_links_devices_folders_and_extended_headers_are_refused(kind: bytes) -> None:
    member = pack_member("originals/" + "0" * 64, type=kind, linkname="/etc/passwd")

    with pytest.raises(InvalidRequest):
        unpack(begin_bundle() + member + end_bundle(documents=0, originals=1))


@pytest.mark.parametrize("size_bytes", [MAX_MEMBER_BYTES + 1, 2**40, 2**62])
def test_e21_a_document_that_claims_to_be_huge_is_refused_before_it_is_read(size_bytes: int) -> None:
    for folder, suffix in (("documents", ".json"), ("vectors", "")):
        header = pack_member(f"{folder}/{'0' * 64}{suffix}", size=size_bytes)

        with pytest.raises(TooLarge):
            unpack(begin_bundle() + header)


def test_e21_an_original_must_be_what_its_name_says() -> None:
    members = [begin_bundle(), pack_original(b"not this", name="0" * 64), end_bundle(documents=0, originals=1)]

    with pytest.raises(InvalidRequest, match="damaged"):
        unpack(b"".join(members))


@pytest.mark.parametrize(("documents", "originals"), [(0, 1), (2, 1), (1, 0), (1, 2)])
def test_e21_a_bundle_must_hold_as_much_as_it_tells(documents: int, originals: int) -> None:
    whole = pack([WALRUS, portable_note()])
    end = end_bundle(documents=documents, originals=originals)

    with pytest.raises(InvalidRequest, match="should hold"):
        unpack(whole[: -len(end)] + end)


def test_e21_nothing_may_follow_the_end_but_the_padding_that_tar_programs_add() -> None:
    bundle = pack([portable_note()])

    assert len(unpack(bundle + bytes(8192))) == 1
    with pytest.raises(InvalidRequest, match="after its end"):
        unpack(bundle + b"more")


def test_e21_vectors_belong_to_the_document_that_follows_them() -> None:
    rendered = render_portable(portable_note())
    vectors, document = rendered[:1024], rendered[1024:]
    end = end_bundle(documents=1, originals=0)

    for members in (document, vectors + pack_original(WALRUS) + document, vectors + vectors + document, vectors):
        with pytest.raises(InvalidRequest):
            unpack(begin_bundle() + members + end)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 0}, "version"),
        ({"version": 2**63}, "version"),
        ({"id": -1}, "id"),
        ({"doc_type": "file"}, "note_text"),
        ({"format": "No/te"}, "format"),
        ({"title": "x" * 10_001}, "title"),
        ({"filename": "../../x"}, "filename"),
        ({"filename": "..\\x"}, "filename"),
        ({"filename": "a\nb"}, "filename"),
        ({"filename": ""}, "filename"),
        ({"source_path": ""}, "source_path"),
        ({"tags": ("a", "a")}, "twice"),
        ({"tags": (" ",)}, "tag"),
        ({"tags": ("x" * 201,)}, "tag"),
        ({"metadata": {"a": math.nan}}, "metadata"),
        ({"metadata": {"a": math.inf}}, "metadata"),
        ({"tags": tuple(f"t{number}" for number in range(1_001))}, "at most 1000 tags"),
        ({"metadata": {"a": "é" * 32_765}}, "at most 65536 bytes"),
        ({"created_at": datetime(2026, 3, 1)}, "UTC"),  # noqa: DTZ001 - that is what is wrong with it
        ({"updated_at": NOW.astimezone(timezone(timedelta(hours=1)))}, "UTC"),
        ({"size_bytes": 1}, "size_bytes"),
        ({"content_hash": "sha256:" + "0" * 64}, "content_hash"),
        ({"original": "0" * 64}, "original"),
        ({"vector_model": "x\ny"}, "vector_model"),
        ({"chunks": ()}, "vectors"),
    ],
)
def test_e21_a_document_that_kb_could_not_have_made_is_refused(fields: dict[str, Any], reason: str) -> None:
    document = replace(portable_note(), record=portable_note(**fields).record)

    with pytest.raises(InvalidRequest, match=reason):
        unpack(pack([document]))


def test_e21_metadata_is_not_nested_without_end() -> None:
    deep: dict[str, Any] = {}
    for _ in range(40):
        deep = {"a": deep}

    with pytest.raises(InvalidRequest, match="metadata"):
        unpack(pack([portable_note(metadata=deep)]))


def former(version: int, text: str = "then") -> PortableRevision:
    return PortableRevision(
        version, "Walrus", title_is_given=False, text=text, content_hash=hash_of(text.encode()), created_at=NOW
    )


def current(version: int, text: str = "now", *, title: str = "Walrus") -> PortableRevision:
    return replace(former(version, text), title=title, text=None)


@pytest.mark.parametrize(
    "revisions",
    [
        (),
        (former(1),),
        (former(3, "now"),),
        (former(1), current(4)),
        (former(0), current(3)),
        (former(2), former(1), current(3)),
        (former(2), current(2)),
        (current(1), current(3)),
        (current(1), former(3)),
        (former(1), current(3, "then")),
        (former(1), current(3, title="Another")),
        (replace(former(1), content_hash=hash_of(b"other")), current(3)),
    ],
)
def test_e21_a_history_that_contradicts_its_note_is_refused(revisions: tuple[PortableRevision, ...]) -> None:
    with pytest.raises(InvalidRequest, match="revision"):
        unpack(pack([portable_note(1, "now", version=3, revisions=revisions)]))


@pytest.mark.parametrize("revisions", [(current(1, "then"),), (former(3),), (former(2), former(1))])
def test_e21_a_file_has_no_history_but_that_of_a_note_whose_place_it_took(
    revisions: tuple[PortableRevision, ...],
) -> None:
    with pytest.raises(InvalidRequest, match="revision"):
        unpack(pack([WALRUS, portable_file(WALRUS, version=3, revisions=revisions)]))

    (_, document) = unpack(pack([WALRUS, portable_file(WALRUS, version=3, revisions=(former(1), former(2)))]))
    assert isinstance(document, PortableDocument)
    assert document.record.revisions == (former(1), former(2))


@pytest.mark.parametrize("number", [math.nan, math.inf, 3e38, 0.0, 2.0])
def test_e21_a_vector_must_have_the_length_one(number: float) -> None:
    document = replace(portable_note(), vectors=np.array([[number, 0, 0, 0]], dtype=np.float32))

    with pytest.raises(InvalidRequest, match="length 1"):
        unpack(pack([document]))


def test_e21_there_must_be_a_vector_for_each_chunk() -> None:
    chunk = PortableChunk(UUID(int=5), "more", heading=None, page_num=None)
    document = portable_note()
    two_chunks = replace(document.record, chunks=(*document.record.chunks, chunk, chunk))

    with pytest.raises(InvalidRequest, match="vectors"):
        unpack(pack([replace(document, record=two_chunks)]))


@pytest.mark.parametrize("content", [b"{}", b"[", b"null", b'{"document":{},"vectors":null,"x":1}', b"\xff"])
def test_e21_json_that_is_no_document_is_refused(content: bytes) -> None:
    member = pack_member(f"documents/{hashlib.sha256(content).hexdigest()}.json", content)

    with pytest.raises(InvalidRequest, match="is not a document"):
        unpack(begin_bundle() + member + end_bundle(documents=1, originals=0))
