"""The names of colours, and which of a picture's are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from kb.engine.ingestion.extraction.readers.pictures.colours import name_colour, name_colours


def test_a_page_of_letters_is_white_and_black_not_grey() -> None:
    page = Image.new("L", (2000, 2000), 255)
    for row in range(0, 2000, 8):
        page.paste(0, (0, row, 2000, row + 1))

    assert name_colours(page) == ["white", "black"]


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ("#000000", "black"),
        ("#ffffff", "white"),
        ("#808080", "grey"),
        ("#d9d9d9", "light grey"),
        ("#333333", "dark grey"),
        ("#ff0000", "red"),
        ("#8b0000", "dark red"),
        ("#ffc0cb", "pink"),
        ("#ffa500", "orange"),
        ("#8b4513", "brown"),
        ("#f5deb3", "beige"),
        ("#ffff00", "yellow"),
        ("#008000", "dark green"),
        ("#32cd32", "green"),
        ("#90ee90", "light green"),
        ("#40e0d0", "turquoise"),
        ("#0000ff", "blue"),
        ("#000080", "dark blue"),
        ("#87ceeb", "light blue"),
        ("#8a2be2", "purple"),
        ("#ff1493", "pink"),
    ],
)
def test_colours_have_the_names_that_people_use(colour: str, name: str) -> None:
    assert name_colours(Image.new("RGB", (3, 3), colour)) == [name]


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_every_colour_has_a_name(colour: tuple[int, int, int]) -> None:
    name = name_colour(*colour)

    assert name.removeprefix("dark ").removeprefix("light ") in {
        *("black", "white", "grey", "red", "orange", "brown", "beige", "yellow", "green", "turquoise", "blue"),
        *("purple", "pink"),
    }


@given(st.lists(st.sampled_from(["red", "blue", "lime", "yellow", "black", "white", "gray"]), min_size=1, max_size=60))
def test_at_most_five_colours_are_named_the_largest_first_and_no_rare_one(stripes: list[str]) -> None:
    picture = Image.new("RGB", (len(stripes), 1))
    for place, colour in enumerate(stripes):
        picture.paste(colour, (place, 0, place + 1, 1))

    named = name_colours(picture)

    counts = {
        name: sum(name_colours(Image.new("RGB", (1, 1), stripe)) == [name] for stripe in stripes) for name in named
    }
    assert len(named) <= 5
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    assert all(count >= 0.08 * len(stripes) for count in counts.values())


def test_what_is_transparent_has_no_colour() -> None:
    picture = Image.new("RGBA", (10, 10), (255, 0, 0, 0))
    picture.paste((0, 0, 128, 255), (0, 0, 3, 3))

    assert name_colours(picture) == ["dark blue"]
    assert name_colours(Image.new("RGBA", (10, 10))) == []
