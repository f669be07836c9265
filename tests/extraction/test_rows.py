"""Rows of tables, whatever file they come from."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from tests.reading import list_parts

from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.tables.rows import ROWS_PER_PART, Table, TableParts
from kb.engine.ingestion.sections import Section

PARTS = st.lists(st.integers(0, 12), min_size=1, unique=True).map(sorted)
NUMBERS = st.lists(st.integers(1, 15 * ROWS_PER_PART), unique=True).map(sorted)


def table(numbers: list[int], parts: list[int]) -> Table:
    return Table(lambda: ((number, Section(str(number))) for number in numbers), parts)


@given(NUMBERS, PARTS, NUMBERS)
def test_no_row_is_lost_whichever_parts_a_table_is_thought_to_have(
    numbers: list[int], parts: list[int], others: list[int]
) -> None:
    """I6: which parts there are is told before the rows are read, so it may be a wrong guess."""
    tables = [table(numbers, parts), table(others, [0])]

    read = list_parts(Extracted(TableParts(tables)))

    assert [section.text for part in read for section in part] == list(map(str, numbers + others))
    assert len(read) == len(parts) + 1


@given(NUMBERS, PARTS, st.data())
def test_a_part_is_the_same_whatever_was_read_before_it(
    numbers: list[int], parts: list[int], data: st.DataObject
) -> None:
    """I4: a reader that died is started again at a later part."""
    in_order = list_parts(Extracted(TableParts([table(numbers, parts)])))
    asked = data.draw(st.lists(st.integers(0, len(parts) - 1)))

    read = TableParts([table(numbers, parts)])

    assert [read[index] for index in asked] == [in_order[index] for index in asked]


def test_parts_after_a_failure_fail_too() -> None:
    """I5: they are not blank, so the document reports them as missing."""

    def broken() -> Iterator[tuple[int, Section]]:
        yield 1, Section("first")
        raise ValueError("no more")

    read = TableParts([Table(broken, [0, 1, 2]), table([1], [0])])

    assert [_try_to_read(read, index) for index in range(4)] == ["no more", "no more", "no more", "1"]


def _try_to_read(parts: TableParts, index: int) -> str:
    try:
        return "".join(section.text for section in parts[index])
    except ValueError as error:
        return str(error)
