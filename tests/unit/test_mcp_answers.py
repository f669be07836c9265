import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.client import Json
from kb.mcp.answers import BUDGET_BYTES, CUT, fit_document, fit_list, shorten, size_of

LONG_TEXT = st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=20), st.integers(0, 4000))
VALUE = st.one_of(
    st.none(), st.integers(), LONG_TEXT, st.lists(LONG_TEXT, max_size=5), st.dictionaries(st.text(), LONG_TEXT)
)
ITEM = st.dictionaries(st.sampled_from(["text", "title", "tags", "metadata", "heading"]), VALUE)


def fit(items: list[Json], offset: int = 0, end: int | None = None) -> Json:
    return fit_list({"results": items, "total": 5}, "results", tool="kb_search", offset=offset, end=end)


@settings(max_examples=200, deadline=None)
@given(st.lists(ITEM, max_size=30))
def test_paging_gives_every_item_once_and_no_page_is_too_large(items: list[Json]) -> None:
    """M5"""
    seen: list[Json] = []
    offset: int | None = 0
    while offset is not None:
        page = fit(items[offset:], offset)

        assert size_of(page) <= BUDGET_BYTES
        assert len(page["results"]) == 1 or page["results"] == items[offset : offset + len(page["results"])]
        seen += page["results"]
        offset = page.get("next_offset")
        assert page.get("truncated", False) is (offset is not None)

    assert len(seen) == len(items)
    assert all(shown == item or shown["truncated"] for shown, item in zip(seen, items, strict=True))


def test_what_fits_is_answered_as_it_is() -> None:
    answer = {"results": [{"text": "short"}], "total": 1}

    assert fit_list(answer, "results", tool="kb_search", offset=0) == answer


def test_a_cut_list_says_how_to_go_on() -> None:
    """M5"""
    page = fit([{"text": "x" * 15_000}] * 3, offset=20)

    assert len(page["results"]) == 2
    assert (page["truncated"], page["next_offset"], page["total"]) == (True, 22, 5)
    assert "kb_search again with offset=22" in page["continue_with"]


def test_a_page_of_a_longer_list_says_how_to_go_on_even_if_nothing_was_cut() -> None:
    assert fit([{"text": "x"}] * 3, offset=20, end=24)["next_offset"] == 23
    assert "next_offset" not in fit([{"text": "x"}] * 3, offset=20, end=23)


def test_an_offset_behind_the_end_ends_the_paging() -> None:
    assert "next_offset" not in fit([], offset=20, end=24)


def test_an_item_that_is_too_large_keeps_its_small_fields_and_shows_its_cuts() -> None:
    item = {
        "id": 7,
        "text": "long " * 20_000,
        "metadata": {f"key{number}": "value" * 100 for number in range(500)},
        "tags": ["tag" * 50] * 1000,
        "heading": None,
    }

    (shown,) = fit([item])["results"]

    assert (shown["id"], shown["heading"], shown["truncated"]) == (7, None, True)
    assert shown["text"].startswith("long long")
    assert shown["text"].endswith(CUT)
    assert shown["tags"][0] == item["tags"][0]  # type: ignore[index]
    assert shown["tags"][-1] == CUT
    assert next(iter(shown["metadata"])) == "key0"
    assert shown["metadata"][CUT] is True
    assert size_of(shown) > BUDGET_BYTES * 0.8


@pytest.mark.parametrize("text", ["\x00" * 50_000, "𝄞" * 50_000, '"\\' * 50_000])
def test_text_is_measured_as_it_is_sent(text: str) -> None:
    shown = shorten({"text": text}, 1000)

    assert 980 <= size_of(shown) <= 1000


def document(text: str, chunks: int, **fields: object) -> Json:
    pieces = [{"ordinal": number, "text": "piece " * 150} for number in range(chunks)]
    return {"id": 7, "title": "A", "tags": [], "chunk_count": chunks, "text": text, "chunks": pieces, **fields}


def test_a_short_note_is_answered_with_its_whole_text() -> None:
    note = document("piece " * 150, 1)

    assert fit_document(note) == note


def test_the_text_of_a_long_note_is_cut_and_its_chunks_hold_the_rest() -> None:
    """M5"""
    note = document("piece " * 15_000, 100)

    first = fit_document(note)
    offset = first["next_offset"]
    second = fit_document({**note, "chunks": note["chunks"][offset:]}, chunk_offset=offset)

    assert first["text"].endswith(CUT)
    assert first["text_truncated"] is True
    assert size_of(first) <= BUDGET_BYTES
    assert first["chunks"] == note["chunks"][:offset]
    assert f"kb_get again with chunk_offset={offset}" in first["continue_with"]
    assert "text" not in second
    assert second["chunks"][0] == note["chunks"][offset]


def test_a_document_with_endless_metadata_still_has_room_for_chunks() -> None:
    fitted = fit_document(document("short", 3, metadata={"key": "x" * 60_000}, tags=["t" * 200] * 500))

    assert len(fitted["chunks"]) == 3
    assert fitted["truncated"] is True
    assert size_of(fitted) <= BUDGET_BYTES


def test_a_document_without_chunks_gets_none() -> None:
    assert fit_document({"id": 7, "title": "A"}) == {"id": 7, "title": "A"}
