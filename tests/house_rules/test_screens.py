import re
from collections.abc import Iterator
from pathlib import Path

from docs.making.pictures import PICTURES, PICTURES_OF
from docs.making.screens import SCREENS, SCREENS_OF

ROOT = Path(__file__).parents[2]


def pictures() -> Iterator[tuple[Path, Path]]:
    """Each page with each picture that it shows."""
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for place in re.findall(r"!\[[^]]*]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8")):
            yield page, (page.parent / place).resolve()


def test_every_picture_that_a_page_shows_is_there() -> None:
    missing = [f"{page.relative_to(ROOT)}: {picture.name}" for page, picture in pictures() if not picture.is_file()]

    assert not missing, f"These show a picture that there is not: {missing}"


def test_every_screen_is_drawn_by_the_program_and_shown_on_a_page() -> None:
    drawn = {SCREENS / f"{name}.svg" for name in SCREENS_OF}

    assert drawn == set(SCREENS.iterdir()), "Run `make screens`, and delete those that it no longer draws."
    assert drawn <= {picture for _, picture in pictures()}, "Show each on a page, or draw it no more."


def test_every_picture_of_the_web_page_is_taken_from_it_and_shown_on_a_page() -> None:
    taken = {PICTURES / f"{name}.png" for name in PICTURES_OF}

    assert taken == set(PICTURES.iterdir()), "Run `make pictures`, and delete those that it no longer takes."
    assert taken <= {picture for _, picture in pictures()}, "Show each on a page, or take it no more."
