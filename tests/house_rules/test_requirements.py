"""docs/reference/requirements.md numbers the requirements, and for each number there is a test that names it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
THIS = Path(__file__)
PAGE = (ROOT / "docs/reference/requirements.md").read_text(encoding="utf-8")


def numbers_of_the_page() -> list[str]:
    found = []
    for letter, first, last in re.findall(r"^\| ([A-Z])(\d+)(?: to [A-Z](\d+))? \|", PAGE, re.MULTILINE):
        found += [f"{letter}{number}" for number in range(int(first), int(last or first) + 1)]
    return found


def test_every_requirement_has_a_test_that_names_it() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py") if path != THIS)
    numbers = numbers_of_the_page()

    unnamed = [number for number in numbers if not re.search(rf"\b{number}\b|_{number.lower()}_", tests)]

    assert len(numbers) > 70
    assert unnamed == []


def test_no_requirement_is_left_out_between_two_numbers() -> None:
    numbers = numbers_of_the_page()

    for letter in sorted({number[0] for number in numbers}):
        own = [int(number[1:]) for number in numbers if number.startswith(letter)]
        assert own == list(range(1, len(own) + 1))
