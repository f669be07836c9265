"""Each hostile file ends with the code that says what is wrong with it, within the limits of its reader."""

import pytest
from tests.faults.amounts import IS_FULL, Tell
from tests.hostile.all_files import GENERATED, choose_from_samples, choose_generated
from tests.hostile.damage import list_samples, renamed
from tests.hostile.endings import Ending, count, read_all, wrong
from tests.hostile.hostile_file import READ
from tests.hostile.markup import FOREIGN_TEXT
from tests.reading import ReadDocument

from kb.engine.ingestion.sections import Section

SIGNATURES = (b"%PDF-", b"PK\3\4", b"{\\rtf")


def content(ending: Ending) -> tuple[str, list[list[Section]] | None]:
    return ending.code, ending.document.parts if ending.document else None


@pytest.mark.parametrize("kind", GENERATED)
def test_a_hostile_file_ends_with_the_code_that_says_what_is_wrong(kind: str, tell: Tell) -> None:
    """I5"""
    endings = read_all(choose_generated(kind))

    assert wrong(endings) == []
    tell(f"Hostile {kind}, {count(endings)}")


def test_an_entity_never_brings_in_another_file() -> None:
    """I5"""
    foreign = [file for file in choose_generated("markup") if "file" in file.filename or "outside" in file.filename]

    endings = read_all(foreign)

    texts = [ending.document.text for ending in endings if ending.document]
    assert len(texts) > 5
    assert all(FOREIGN_TEXT not in text for text in texts)


def test_what_is_read_is_not_many_times_its_file() -> None:
    """I5: a header stands with every part of its table, a heading with every section."""
    kept = [file for file in choose_generated("texts") if READ in file.ends and not file.filename.startswith("10-MB")]

    endings = read_all(kept)

    grown = [
        ending for ending in endings if ending.document and length_of(ending.document) > 4 * len(ending.file.make())
    ]
    assert [ending.file.filename for ending in grown] == []


def length_of(document: ReadDocument) -> int:
    """With what is repeated."""
    repeated = [section.rows.header if section.rows else "" for section in document.sections]
    headings = [section.heading or "" for section in document.sections]
    return sum(map(len, [document.text, *repeated, *headings]))


def test_a_damaged_sample_is_read_as_far_as_it_is_whole_or_refused(tell: Tell) -> None:
    """I5: cut files and turned bits"""
    endings = read_all(choose_from_samples("damaged samples", at_most=100))

    assert wrong(endings) == []
    tell(f"Damaged samples, {count(endings)}")


def test_a_misnamed_sample_is_read_or_refused(tell: Tell) -> None:
    """I1"""
    endings = read_all(choose_from_samples("misnamed samples", at_most=60))

    assert wrong(endings) == []
    tell(f"Misnamed samples, {count(endings)}")


@pytest.mark.parametrize("extension", [".txt", ".pdf", ".docx", ".json"])
def test_what_tells_by_itself_what_it_is_is_read_the_same_under_any_name(extension: str) -> None:
    """I1"""
    samples = [path for path in list_samples() if path.read_bytes().startswith(SIGNATURES)]
    chosen = samples if IS_FULL else samples[::4]

    rightly_named = read_all(renamed(path, path.suffix) for path in chosen)
    wrongly_named = read_all(renamed(path, extension) for path in chosen)

    assert [content(ending) for ending in wrongly_named] == [content(ending) for ending in rightly_named]
