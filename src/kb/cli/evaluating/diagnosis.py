"""Why a document is hard to find. Pure; what to say of it, and what to do, `kb.cli.render.self_test` knows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from kb.cli.evaluating.attempts import By, Hit, Miss
from kb.cli.evaluating.languages import name_foreign_language
from kb.cli.evaluating.noise import measure_noise
from kb.cli.evaluating.reading import Reading
from kb.cli.evaluating.terms import find_terms
from kb.cli.evaluating.titles import says_nothing
from kb.client import Json

# Of a file; a note is as short as its author wanted it.
FEWEST_WORDS = 5
# Three of 8,000 good paragraphs in six languages have more, all of them English; Vietnamese comes nearest with .23. A
# scan that was too small and blurred to be read had .36.
MUCH_NOISE = 0.25
# How sure the engine is of what it has recognised: of good scans .97 and more, of that one .54.
LEAST_CONFIDENCE = 0.75
# Text of another kind than prose has the signs of noise without being it.
_NOT_PROSE = frozenset({"code", "csv", "html", "json", "md", "note", "svg", "xlsx"})
# Most of a text: the rest is a date, a name, a page number.
MOST_OF_IT = 0.6


@dataclass(frozen=True)
class NoText:
    code: ClassVar = "no_text"
    words: int


@dataclass(frozen=True)
class UnreadParts:
    code: ClassVar = "unread_parts"
    unit: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class GarbledText:
    code: ClassVar = "garbled_text"
    was_recognised: bool
    pages: tuple[int, ...]
    """Those that are garbled, of the ones that were read; none if the document has no pages."""


@dataclass(frozen=True)
class NearDuplicates:
    code: ClassVar = "near_duplicates"
    others: tuple[Hit, ...]
    """What came instead and says the same, best first."""


@dataclass(frozen=True)
class UnknownLanguage:
    code: ClassVar = "unknown_language"
    language: str


@dataclass(frozen=True)
class TitleSaysNothing:
    code: ClassVar = "title_says_nothing"


@dataclass(frozen=True)
class TitleShared:
    code: ClassVar = "title_shared"
    documents: int
    """How many have it, this one included."""


@dataclass(frozen=True)
class Outranked:
    code: ClassVar = "outranked"
    miss: Miss


Reason = (
    NoText | UnreadParts | GarbledText | NearDuplicates | UnknownLanguage | TitleSaysNothing | TitleShared | Outranked
)


def diagnose(reading: Reading, misses: Sequence[Miss], namesakes: int, likenesses: Mapping[int, float]) -> list[Reason]:
    """All that speaks against finding the document; nothing if it was found and its text is in order.

    `namesakes` is how many documents have its title, itself included, and `likenesses` tells of those that came instead
    how much of its text they hold.
    """
    reasons = [*_reasons_of_text(reading)]
    is_unreadable = any(isinstance(reason, NoText | GarbledText) for reason in reasons)
    missed_phrases = [miss for miss in misses if miss.attempt.by is By.PHRASE]
    if missed_phrases and not is_unreadable:
        reasons.append(_reason_of_phrase(reading, missed_phrases[0], likenesses))
    missed_titles = [miss for miss in misses if miss.attempt.by is By.TITLE]
    if missed_titles:
        reasons.append(_reason_of_title(reading, missed_titles[0], namesakes))
    elif reasons and says_nothing(reading.title):
        # Searched for as it stands it may come up, but who would?
        reasons.append(TitleSaysNothing())
    return reasons


def is_wordless_picture(document: Json) -> bool:
    """A photograph, or a scan in which nothing could be recognised: nobody can tell which."""
    return document["doc_type"] == "image" and "ocr_confidence" not in document["metadata"]


def fold_title(title: str) -> str:
    """Titles that are the same then are the same to a search as well."""
    return " ".join(title.casefold().split())


def _reasons_of_text(reading: Reading) -> Iterator[Reason]:
    document = reading.document
    words = _count_words(reading)
    if document["doc_type"] != "note" and words < FEWEST_WORDS:
        yield NoText(words)
    elif _is_garbled(reading):
        yield GarbledText(_was_recognised(document), tuple(_find_garbled_pages(reading)))
    for unit in ("page", "slide", "sheet", "chapter", "part"):
        # A document may have been given metadata of the same name by anybody.
        if (unread := document["metadata"].get(f"unread_{unit}s")) and isinstance(unread, list):
            yield UnreadParts(unit, tuple(map(str, unread)))


def _count_words(reading: Reading) -> int:
    # What the engine says of any picture, its size and its colours, is no text of it. A photograph may do without.
    if is_wordless_picture(reading.document) and says_nothing(reading.title):
        return 0
    return sum(1 for text in reading.texts for _ in find_terms(text))


def _was_recognised(document: Json) -> bool:
    return document["processing_method"] in ("ocr", "image_analysis") or "ocr_pages" in document["metadata"]


def _is_garbled(reading: Reading) -> bool:
    document = reading.document
    confidence = document["metadata"].get("ocr_confidence")
    if _was_recognised(document) and isinstance(confidence, int | float) and confidence < LEAST_CONFIDENCE:
        return True
    return document["doc_type"] not in _NOT_PROSE and (measure_noise("\n".join(reading.texts)) or 0) > MUCH_NOISE


def _find_garbled_pages(reading: Reading) -> Iterator[int]:
    for page, chunks in groupby(reading.chunks, key=lambda chunk: chunk["page_num"]):
        text = "\n".join(chunk["text"] for chunk in chunks)
        if page is not None and (measure_noise(text) or 0) > MUCH_NOISE:
            yield page


def _reason_of_phrase(reading: Reading, miss: Miss, likenesses: Mapping[int, float]) -> Reason:
    alike = tuple(hit for hit in miss.attempt.hits if likenesses.get(hit.document_id, 0.0) >= MOST_OF_IT)
    if alike:
        return NearDuplicates(alike)
    return _reason_of_language("\n".join(reading.texts), miss) or Outranked(miss)


def _reason_of_title(reading: Reading, miss: Miss, namesakes: int) -> Reason:
    if says_nothing(reading.title):
        return TitleSaysNothing()
    if namesakes > 1:
        return TitleShared(namesakes)
    return _reason_of_language("\n".join([reading.title, *reading.texts]), miss) or Outranked(miss)


def _reason_of_language(text: str, miss: Miss) -> Reason | None:
    """Only where the model was wrong and the words were right: whether it knows a language, nobody can ask it."""
    if not miss.is_found_by_words or miss.is_found_by_meaning:
        return None
    language = name_foreign_language(text)
    return UnknownLanguage(language) if language else None
