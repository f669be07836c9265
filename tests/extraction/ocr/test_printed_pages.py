"""I3: pages of every kind are read, and in the right order."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from tests.amounts import IS_FULL
from tests.extraction.ocr.printed_pages import PrintedPage, print_pages
from tests.extraction.ocr.word_errors import word_error_rate, word_recall

from kb.engine.ingestion.extraction.ocr.page import PageReader

MEAN_RECALL = 0.93
WORST_RECALL = 0.80
COLUMN_ERROR = 0.15
# Left out of the selection: `test_page` reads such pages too, smaller ones.
PLAIN = {"one column", "skewed", "turned by 90 degrees", "turned by 180 degrees"}


@dataclass(frozen=True)
class ReadPage:
    printed: PrintedPage
    text: str

    @property
    def error(self) -> float:
        return word_error_rate(self.printed.text, self.text)


@pytest.fixture(scope="module")
def pages() -> dict[str, ReadPage]:
    reader = PageReader(threads=2)
    chosen = [page for page in print_pages() if IS_FULL or page.name not in PLAIN]
    return {page.name: ReadPage(page, reader.read(page.picture).text) for page in chosen}


def tell(figures: Mapping[str, float]) -> str:
    return "\n".join(f"{name:30} {figure:.3f}" for name, figure in figures.items())


def test_the_words_of_all_pages_are_read(pages: dict[str, ReadPage]) -> None:
    recalls = {name: word_recall(page.printed.text, page.text) for name, page in pages.items()}

    assert sum(recalls.values()) / len(recalls) >= MEAN_RECALL, tell(recalls)
    assert min(recalls.values()) >= WORST_RECALL, tell(recalls)


def test_columns_are_read_in_their_order(pages: dict[str, ReadPage]) -> None:
    errors = {name: page.error for name, page in pages.items() if page.printed.is_columned}

    assert len(errors) >= 4
    assert max(errors.values()) < COLUMN_ERROR, tell(errors)


@pytest.mark.parametrize("name", ["table", "table of long cells", "receipt"])
def test_the_rows_of_a_table_are_lines(name: str, pages: dict[str, ReadPage]) -> None:
    printed, read = (
        [line for line in text.splitlines() if " | " in line] for text in (pages[name].printed.text, pages[name].text)
    )

    assert read == printed


def test_a_menu_beside_the_text_of_a_window_is_read_by_itself(pages: dict[str, ReadPage]) -> None:
    assert pages["screenshot"].error < COLUMN_ERROR, pages["screenshot"].text


def test_an_error_is_a_word_that_is_missing_or_out_of_place() -> None:
    assert word_recall("one two two three", "three two one") == 0.75
    assert word_error_rate("one two three four", "one | two, three four.") == 0
    assert word_error_rate("one two three four", "three four one two") == 1
    assert word_error_rate("\u4e00\u4e8c three", "\u4e00 three") == pytest.approx(1 / 3)
