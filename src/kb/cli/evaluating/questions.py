"""Questions whose answers are known, as a person writes them down: JSON Lines, or CSV with a header."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

FIELDS = ("query", "expected", "tags")
# Names of files and titles seldom have it; commas they have.
SEPARATOR = ";"


@dataclass(frozen=True)
class Question:
    line: int
    query: str
    expected: tuple[str, ...]
    """Each names a document: its number, UUID, source path, file name or title."""
    tags: tuple[str, ...]


class BadQuestions(ValueError):
    def __init__(self, faults: list[tuple[int, str]]) -> None:
        super().__init__(f"{len(faults)} lines are wrong.")
        self.faults = faults
        """What is wrong, with the number of the line."""


def parse_questions(text: str, *, is_csv: bool) -> list[Question]:
    """In their order; blank lines are nothing. Raises `BadQuestions` with all that is wrong."""
    questions: list[Question] = []
    faults: list[tuple[int, str]] = []
    for line, row in _read_csv(text) if is_csv else _read_json_lines(text):
        try:
            questions.append(_parse_question(line, row))
        except ValueError as error:
            faults.append((line, str(error)))
    if faults:
        raise BadQuestions(faults)
    return questions


def _read_json_lines(text: str) -> Iterator[tuple[int, Any]]:
    """A line that is no JSON is given as the error it is."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError):
            yield number, ValueError('it is not JSON. A line looks like {"query": "spare key", "expected": [42]}.')


def _read_csv(text: str) -> Iterator[tuple[int, Any]]:
    # The ends of lines stay as they are: a cell in quotes may have several.
    rows = csv.DictReader(StringIO(text, newline=""), restkey="(without a name)")
    try:
        for row in rows:
            yield rows.line_num, {name: _parse_cell(name, cell) for name, cell in row.items() if cell}
    except csv.Error as error:
        yield rows.line_num, ValueError(f"it is not CSV: {error}.")


def _parse_cell(name: str, cell: str | list[str]) -> str | list[str]:
    if name == "query" or isinstance(cell, list):
        return cell
    return [part.strip() for part in cell.split(SEPARATOR) if part.strip()]


def _parse_question(line: int, row: Any) -> Question:
    if isinstance(row, ValueError):
        raise row
    if not isinstance(row, dict):
        raise ValueError('it is not an object like {"query": "spare key", "expected": [42]}.')  # noqa: TRY004  a fault of the file, not of the program
    if unknown := [str(name) for name in row if name not in FIELDS]:
        raise ValueError(f"the field {unknown[0]} is not known; there are {', '.join(FIELDS)}.")
    query = row.get("query")
    if not isinstance(query, str) or not query.strip():
        raise ValueError("it has no query.")
    expected = _texts(row, "expected")
    if not expected:
        raise ValueError("it does not say which documents are expected.")
    return Question(line, query, expected, _texts(row, "tags"))


def _texts(row: dict[str, Any], name: str) -> tuple[str, ...]:
    """One or several; numbers are as good as text."""
    given = row.get(name, [])
    several = given if isinstance(given, list) else [given]
    if not all(isinstance(one, str | int) and not isinstance(one, bool) and str(one).strip() for one in several):
        raise ValueError(f"{name} is neither a text nor a list of texts.")
    return tuple(dict.fromkeys(str(one).strip() for one in several))
