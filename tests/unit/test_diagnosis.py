from typing import Any

import pytest

from kb.cli.evaluating.attempts import Attempt, By, Hit, Miss
from kb.cli.evaluating.diagnosis import (
    GarbledText,
    NearDuplicates,
    NoText,
    Outranked,
    Reason,
    TitleSaysNothing,
    TitleShared,
    UnknownLanguage,
    UnreadParts,
    diagnose,
)
from kb.cli.evaluating.reading import Reading

PROSE = "The committee met in the upper room of the harbour office and read the accounts of the previous year. "
NOISE = "Th3 c0mm|ttee rn3t 0n tl-e f0ur+eenth 0f M@rch lri tbe uqqer r00rn xvvz kkkj prszt lllm q w r t "
THAI = "คณะกรรมการประชุมกันที่สำนักงานท่าเรือและอ่านบัญชีของปีที่แล้ว "
OTHERS = (Hit(8, "Ropes"), Hit(9, "Sails"))


def read(*texts: str, title: str = "Harbour minutes", **facts: Any) -> Reading:
    document = {"id": 7, "title": title, "doc_type": "pdf", "processing_method": "text_extraction", "metadata": {}}
    chunks = [{"text": text, "page_num": page} for page, text in enumerate(texts, start=1)]
    return Reading({**document, **facts}, tuple(chunks))


def missed(by: By, *, by_words: bool = False, by_meaning: bool = False) -> Miss:
    return Miss(Attempt(by, "some words", 7, OTHERS), 12, by_words, by_meaning)


def reasons_of(
    reading: Reading, *misses: Miss, namesakes: int = 1, likenesses: dict[int, float] | None = None
) -> list[Reason]:
    return diagnose(reading, misses, namesakes, likenesses or {})


@pytest.mark.parametrize("doc_type", ["pdf", "image", "note", "code"])
def test_of_a_document_that_is_found_and_can_be_read_there_is_nothing_to_say(doc_type: str) -> None:
    assert reasons_of(read(PROSE, doc_type=doc_type, metadata={"ocr_confidence": 0.98})) == []


def test_a_file_with_next_to_no_text_is_told_whether_it_was_found_or_not() -> None:
    found = reasons_of(read("Page 1"))
    not_found = reasons_of(read(), missed(By.PHRASE))

    assert (found, not_found) == ([NoText(2)], [NoText(0)])


def test_a_note_is_as_short_as_its_author_wanted_it() -> None:
    assert reasons_of(read("Buy milk", doc_type="note")) == []


def test_a_picture_without_words_is_told_only_if_its_title_does_not_help_either() -> None:
    described = "PNG picture, 320 x 200 pixels. Mostly light blue and green."

    meadow = reasons_of(read(described, title="Meadow", doc_type="image"))
    unnamed = reasons_of(read(described, title="IMG_2031.png", doc_type="image"))

    assert (meadow, unnamed) == ([], [NoText(0), TitleSaysNothing()])


def test_text_that_is_hardly_language_is_told_with_its_pages_though_its_own_rubbish_finds_it() -> None:
    recognised = reasons_of(read(PROSE, NOISE, NOISE, processing_method="ocr"))
    brought_along = reasons_of(read(NOISE))

    assert recognised == [GarbledText(was_recognised=True, pages=(2, 3))]
    assert brought_along == [GarbledText(was_recognised=False, pages=(1,))]


def test_of_pages_that_were_recognised_the_engine_says_how_sure_it_is() -> None:
    unsure = read(PROSE, processing_method="ocr", metadata={"ocr_confidence": 0.6})

    assert reasons_of(unsure) == [GarbledText(was_recognised=True, pages=())]


@pytest.mark.parametrize("doc_type", ["code", "csv", "json", "note"])
def test_what_is_no_prose_is_not_taken_for_garbled(doc_type: str) -> None:
    assert reasons_of(read(NOISE, doc_type=doc_type)) == []


@pytest.mark.parametrize(
    ("metadata", "reasons"),
    [
        ({"unread_pages": ["3", "5"]}, [UnreadParts("page", ("3", "5"))]),
        ({"unread_slides": [2]}, [UnreadParts("slide", ("2",))]),
        ({"unread_pages": "somebody's own"}, []),
    ],
)
def test_pages_that_could_not_be_read_are_told(metadata: dict[str, Any], reasons: list[Reason]) -> None:
    assert reasons_of(read(PROSE, metadata=metadata)) == reasons


def test_what_came_instead_is_a_twin_if_it_holds_most_of_the_text() -> None:
    twin = reasons_of(read(PROSE), missed(By.PHRASE), likenesses={8: 0.2, 9: 0.9})
    stranger = reasons_of(read(PROSE), missed(By.PHRASE), likenesses={8: 0.2, 9: 0.4})

    assert twin == [NearDuplicates((OTHERS[1],))]
    assert stranger == [Outranked(missed(By.PHRASE))]


def test_a_language_is_blamed_only_where_words_find_what_the_model_does_not() -> None:
    by_words = missed(By.PHRASE, by_words=True)
    by_both = missed(By.PHRASE, by_words=True, by_meaning=True)

    assert reasons_of(read(THAI), by_words) == [UnknownLanguage("Thai script")]
    assert reasons_of(read(THAI), by_both) == [Outranked(by_both)]
    assert reasons_of(read(PROSE), by_words) == [Outranked(by_words)]


def test_a_title_that_did_not_find_its_document_says_nothing_is_shared_or_fits_others_better() -> None:
    miss = missed(By.TITLE)

    assert reasons_of(read(PROSE, title="Scan 0001"), miss, namesakes=3) == [TitleSaysNothing()]
    assert reasons_of(read(PROSE), miss, namesakes=3) == [TitleShared(3)]
    assert reasons_of(read(PROSE), miss) == [Outranked(miss)]


def test_an_empty_title_is_told_beside_any_other_reason() -> None:
    found_by_title = reasons_of(read(PROSE, title="Scan 0001"), missed(By.PHRASE))

    assert found_by_title == [Outranked(missed(By.PHRASE)), TitleSaysNothing()]
