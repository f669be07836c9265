"""I3: what is read from a picture stands in the order in which a person reads it."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.ingestion.extraction.ocr.layout import arrange
from kb.engine.ingestion.extraction.ocr.lines import Box, Line

HEIGHT = 24
PITCH = 32
LETTER = 11

LEFT = (
    "The keeper of the tower writes",
    "down the weather every hour and",
    "sends it to the station on the",
    "mainland, where nobody reads it",
    "but everybody would miss it.",
)
RIGHT = (
    "When the cable broke in March,",
    "three clerks rowed over at once",
    "to ask what had happened to the",
    "little tables that had covered",
    "the wall of their office.",
)


def place(text: str, x: float, y: float, *, height: float = HEIGHT) -> Line:
    return Line(Box(x, y, x + LETTER * len(text) * height / HEIGHT, y + height), text, 0.99)


def column(texts: Iterable[str], x: float, y: float, *, pitch: float = PITCH) -> list[Line]:
    return [place(text, x, y + pitch * row) for row, text in enumerate(texts)]


def row(cells: Sequence[str], edges: Sequence[float], y: float) -> list[Line]:
    return [place(cell, x, y) for cell, x in zip(cells, edges, strict=True) if cell]


def in_paragraphs(*paragraphs: Iterable[str]) -> str:
    return "\n\n".join("\n".join(lines) for lines in paragraphs)


@pytest.mark.parametrize("shift", [0, 13])
def test_columns_are_read_one_after_the_other_on_one_grid_or_not(shift: int) -> None:
    lines = column(LEFT, 100, 100) + column(RIGHT, 480, 100 + shift)

    assert arrange(lines) == in_paragraphs(LEFT, RIGHT)


def test_what_runs_across_the_columns_keeps_its_place() -> None:
    heading = "Weather reports from the tower and why they matter to all of us"
    note = "* Told by the last keeper to his niece, who wrote it down for the local paper."
    lines = [
        place("117", 440, 20),
        place(heading, 100, 100),
        *column(LEFT, 100, 160),
        *column(RIGHT, 480, 160),
        place(note, 100, 360),
    ]

    assert arrange(lines) == in_paragraphs(["117"], [heading], LEFT, RIGHT, [note])


def test_a_running_head_is_read_before_the_columns_and_a_page_number_after_them() -> None:
    head = [place("The tower", 100, 20), place("Chapter four", 700, 20)]
    number = place("38", 700, 400)
    lines = [*head, *column(LEFT, 100, 100), *column(RIGHT, 480, 100), number]

    assert arrange(lines) == in_paragraphs(["The tower | Chapter four"], LEFT, RIGHT, ["38"])


def test_two_columns_may_stand_below_three() -> None:
    thirds = [[f"{name} goes on and", "never comes to an", "end before noon."] for name in ("Anna", "Berta", "Clara")]
    lines = [line for number, third in enumerate(thirds) for line in column(third, 100 + 260 * number, 100)]
    across = "A line that runs across all that is on the page, from left to right"
    lines += [place(across, 100, 220), *column(LEFT, 100, 280), *column(RIGHT, 480, 280)]

    assert arrange(lines) == in_paragraphs(*thirds, [across], LEFT, RIGHT)


def test_a_sentence_goes_on_from_the_foot_of_a_column_to_the_head_of_the_next() -> None:
    first, second = LEFT[:4], ("but everybody would miss it.", *RIGHT[:3])

    assert arrange(column(first, 100, 100) + column(second, 480, 100)) == in_paragraphs([*first, *second])


def test_a_menu_is_read_before_the_text_beside_it() -> None:
    menu = ("General", "Accounts", "Backup", "Storage", "Sound", "About")
    beside = ("Copies are kept.", "The drive is almost full.", "Send a message.", "Folder", "Save all", "Older files")
    lines = column(menu, 20, 100, pitch=50) + column(beside, 300, 112, pitch=60)

    assert arrange(lines).split() == " ".join(menu + beside).split()


def test_the_bubbles_of_a_chat_are_read_in_turn() -> None:
    lines = column(LEFT, 20, 100) + column(RIGHT, 420, 300) + column(LEFT, 20, 500) + column(RIGHT, 420, 700)

    assert arrange(lines) == in_paragraphs(LEFT, RIGHT, LEFT, RIGHT)


def test_a_programme_beside_prose_is_read_after_it() -> None:
    listing = ("BEGIN tower", "  READ weather", "  SEND weather", "  WAIT 1 hour", "END tower")

    assert arrange(column(LEFT, 100, 100) + column(listing, 480, 100)).split() == " ".join(LEFT + listing).split()


def test_a_table_is_read_by_rows_and_an_empty_cell_stays_empty() -> None:
    edges = (100, 350, 500, 650)
    table = [("Station", "Rain", "Level", "Remarks"), ("Upper Weir", "121", "67", ""), ("Mill", "", "31", "frozen")]
    lines = [line for number, cells in enumerate(table) for line in row(cells, edges, 100 + 40 * number)]

    assert arrange(lines) == "Station | Rain | Level | Remarks\nUpper Weir | 121 | 67\nMill |  | 31 | frozen"


def test_a_cell_of_several_lines_is_one_cell() -> None:
    lines = [
        *row(("Berth", "Rules", "Asked for at"), (100, 300, 700), 100),
        *row(("North quay", "Ships of more than thirty", "Harbour office"), (100, 300, 700), 150),
        *row(("metres, for loading only.",), (300,), 150 + 28),
        *row(("Ferry pier", "Kept free until the last", "Ferry company"), (100, 300, 700), 230),
        *row(("ferry has left.", "upstairs"), (300, 700), 230 + 28),
    ]

    assert arrange(lines).splitlines() == [
        "Berth | Rules | Asked for at",
        "North quay | Ships of more than thirty metres, for loading only. | Harbour office",
        "Ferry pier | Kept free until the last ferry has left. | Ferry company upstairs",
    ]


def test_a_table_of_contents_that_is_set_close_stays_in_rows() -> None:
    entries = [("1", "Overview", "3"), ("1.1", "The tower", "4"), ("1.2", "The boats", "7"), ("2", "Index", "9")]
    tops = (100, 150, 178, 240)
    lines = [line for cells, y in zip(entries, tops, strict=True) for line in row(cells, (100, 200, 700), y)]

    assert arrange(lines).splitlines() == [" | ".join(entry) for entry in entries]


def test_prices_stand_behind_what_they_are_asked_for() -> None:
    sold = [("Rye bread", "3.40"), ("Olive oil, cold", "18.95"), ("Eggs", "3.10")]
    lines = [place("CORNER GROCERY", 200, 40), place("Thank you", 60, 300)]
    for number, (name, price) in enumerate(sold):
        lines += [place(name, 60, 120 + 34 * number), place(price, 500 - LETTER * len(price), 120 + 34 * number)]
    rows = [f"{name} | {price}" for name, price in sold]

    assert arrange(lines) == in_paragraphs(["CORNER GROCERY"], rows, ["Thank you"])


def test_rows_that_are_set_close_stay_apart() -> None:
    table = [("Mill", "frozen", "west"), ("Weir", "open", ""), ("Bridge", "", "east"), ("Spring", "dry", "north")]
    lines = [line for number, cells in enumerate(table) for line in row(cells, (100, 300, 500), 100 + 28 * number)]

    assert arrange(lines).splitlines() == [
        "Mill | frozen | west",
        "Weir | open",
        "Bridge |  | east",
        "Spring | dry | north",
    ]


def test_a_head_over_two_columns_does_not_make_them_one() -> None:
    lines = [*row(("Station", "Rain in winter and summer"), (100, 300), 100)]
    for number, cells in enumerate(
        [("Mill", "84", "12", "dry"), ("Weir", "", "31", "wet"), ("Spring", "7", "", "wet")]
    ):
        lines += row(cells, (100, 300, 500, 700), 140 + 40 * number)

    assert arrange(lines).splitlines()[1:] == ["Mill | 84 | 12 | dry", "Weir |  | 31 | wet", "Spring | 7 |  | wet"]


def test_cells_that_stand_close_are_not_taken_for_pieces_of_a_line() -> None:
    table = [("Mill", "eighty"), ("Weir", "twelve"), ("Pond", "seven"), ("Well", "nine")]
    lines = [line for number, cells in enumerate(table) for line in row(cells, (100, 170), 100 + 40 * number)]

    assert arrange(lines).splitlines() == [" | ".join(cells) for cells in table]


def test_a_label_and_its_value_are_one_line() -> None:
    lines = row(("Owner:", "Margaret Holm"), (100, 400), 100) + row(("Engine:", "Diesel"), (100, 400), 140)

    assert arrange(lines) == "Owner: Margaret Holm\nEngine: Diesel"


def test_lists_beside_one_another_are_read_one_after_the_other() -> None:
    left, right = ("• More ferries", "• Fewer cars", "• New lamps"), ("• Low costs", "• Two grants", "• One complaint")

    assert arrange(column(left, 100, 100) + column(right, 500, 100)).split() == " ".join(left + right).split()


def test_the_columns_of_an_index_are_read_one_after_the_other() -> None:
    entries = [f"{letter}{ending}" for letter in "ABCDEFGHIJKLMNOP" for ending in ("nchor, 12, 15", "t sea, 31")]
    lines = [
        place(entry, (100 if number < 16 else 500) + number % 2 * 2 * HEIGHT, 100 + number % 16 * PITCH)
        for number, entry in enumerate(entries)
    ]

    assert arrange(lines).split() == " ".join(entries).split()


def test_a_table_of_numbers_stays_in_rows_however_long_it_is() -> None:
    table = [[str(1_000 + 37 * cell * number) for cell in range(8)] for number in range(30)]
    edges = [100 + 110 * number for number in range(8)]
    lines = [line for number, cells in enumerate(table) for line in row(cells, edges, 100 + PITCH * number)]

    assert arrange(lines).splitlines() == [" | ".join(cells) for cells in table]


def test_dashes_in_empty_cells_do_not_make_a_list() -> None:
    table = [("Mill", "-", "-"), ("Weir", "-", "-"), ("Bridge", "-", "-"), ("Spring", "-", "-")]
    lines = [line for number, cells in enumerate(table) for line in row(cells, (100, 300, 400), 100 + 40 * number)]

    assert arrange(lines).splitlines() == [" | ".join(cells) for cells in table]


def test_lines_that_were_detected_in_pieces_are_whole_again() -> None:
    lines = []
    for texts, x in ((LEFT, 100), (RIGHT, 560)):
        for number, text in enumerate(texts):
            words = text.split()
            first, second = " ".join(words[: 1 + number % 4]), " ".join(words[1 + number % 4 :])
            y = 100 + PITCH * number
            lines += [place(first, x, y), place(second, x + LETTER * len(first) + HEIGHT, y)]

    assert arrange(lines) == in_paragraphs(LEFT, RIGHT)


def test_a_word_that_is_divided_at_the_end_of_a_line_is_made_whole() -> None:
    lines = column(("It was a long after-", "noon for the well-", "known X-", "ray man, a well-known one."), 100, 100)

    assert arrange(lines).splitlines() == [
        "It was a long afternoon",
        "for the well-known",
        "X-ray",
        "man, a well-known one.",
    ]


def test_paragraphs_begin_after_a_blank_an_indent_or_a_short_last_line() -> None:
    texts = (
        LEFT[0],
        LEFT[1],
        "short end.",
        RIGHT[0],
        "this is the end of a whole line.",
        "New begins here, indented and",
        "then",
    )
    lines = [place(text, 100, 100 + PITCH * number) for number, text in enumerate(texts)]
    lines[5] = place(texts[5], 100 + 1.5 * HEIGHT, 100 + PITCH * 5)
    lines.append(place("after a blank", 100, 100 + PITCH * 8))

    assert arrange(lines) == in_paragraphs(texts[:3], texts[3:5], texts[5:], ["after a blank"])


def test_a_page_without_any_words_is_empty() -> None:
    assert arrange([]) == ""
    assert arrange([place(" ", 10, 10)]) == ""


words = st.text(st.sampled_from("abcdeXYZ"), min_size=1, max_size=8)
lines_anywhere = st.builds(
    lambda texts, x, y, height: place(" ".join(texts), x, y, height=height),
    st.lists(words, min_size=1, max_size=5),
    st.integers(0, 60).map(lambda step: 20 * step),
    st.integers(0, 120).map(lambda step: 8 * step),
    st.sampled_from([16, 24, 24, 24, 40]),
)


@given(st.lists(lines_anywhere, max_size=60))
def test_nothing_is_lost_and_nothing_is_doubled(lines: list[Line]) -> None:
    expected = Counter(word for line in lines for word in line.text.split())

    assert Counter(arrange(lines).replace("|", " ").split()) == expected


@given(st.lists(st.tuples(words, st.integers(26, 90)), min_size=1, max_size=40))
def test_one_column_is_read_from_top_to_bottom(steps: list[tuple[str, int]]) -> None:
    lines, y = [], 0
    for word, step in steps:
        y += step
        lines.append(place(word, 100, y))

    assert arrange(lines[::-1]).split() == [word for word, _ in steps]


@given(
    st.lists(lines_anywhere, max_size=30, unique_by=lambda line: (line.box.left, line.box.top + line.box.bottom)),
    st.randoms(use_true_random=False),
)
def test_the_order_of_detection_does_not_matter(lines: list[Line], random: Random) -> None:
    shuffled = list(lines)
    random.shuffle(shuffled)

    assert arrange(shuffled) == arrange(lines)


@pytest.mark.parametrize(
    "lines",
    [
        [place("cell", 60 * number, 100) for number in range(2_000)],
        [place("cell", 60 * (number % 40), 30 * (number // 40)) for number in range(2_000)],
        [place("some words of prose", 37 * number % 4_000, 7 * number) for number in range(2_000)],
        [place("word", 100, 100) for _ in range(2_000)],
        column(["prose goes on and on, it seems"] * 1_000, 0, 0)
        + column(["and so does the other column"] * 1_000, 500, 9),
    ],
    ids=["one row", "a grid", "steps", "all in one place", "two long columns"],
)
def test_a_crowded_page_takes_no_longer_than_it_should(lines: list[Line]) -> None:
    started = time.process_time()

    arrange(lines)

    assert time.process_time() - started < 5
