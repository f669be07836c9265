import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.evaluating.questions import BadQuestions, Question, parse_questions

WORDS = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=";"), min_size=1)
QUESTIONS = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, unique=True), st.lists(WORDS, unique=True)))


@given(QUESTIONS)
def test_what_is_written_is_read_in_either_format(questions: list[tuple[str, list[str], list[str]]]) -> None:
    lines = [json.dumps({"query": query, "expected": names, "tags": tags}) for query, names, tags in questions]
    cells = io.StringIO()
    writer = csv.writer(cells)
    writer.writerow(["query", "expected", "tags"])
    writer.writerows([query, ";".join(names), "; ".join(tags)] for query, names, tags in questions)

    read = [parse_questions("\n".join(lines), is_csv=False), parse_questions(cells.getvalue(), is_csv=True)]

    wanted = [(query, tuple(names), tuple(tags)) for query, names, tags in questions]
    assert [[(one.query, one.expected, one.tags) for one in each] for each in read] == [wanted, wanted]


@given(st.text(), st.booleans())
def test_any_text_is_read_or_refused_line_by_line(text: str, is_csv: bool) -> None:  # noqa: FBT001  drawn
    faults: list[tuple[int, str]] = []
    try:
        parse_questions(text, is_csv=is_csv)
    except BadQuestions as error:
        faults = error.faults

    assert all(line >= 1 and sentence for line, sentence in faults)


def test_one_expected_document_needs_no_list_and_blank_lines_count() -> None:
    questions = parse_questions('\n{"query": "spare key", "expected": 42}\n\n', is_csv=False)

    assert questions == [Question(line=2, query="spare key", expected=("42",), tags=())]


def test_a_cell_may_have_several_lines_and_commas() -> None:
    questions = parse_questions('query,expected\r\n"one,\ntwo",a.md; b.md\r\nthree,c.md\r\n', is_csv=True)

    assert [(one.query, one.expected) for one in questions] == [("one,\ntwo", ("a.md", "b.md")), ("three", ("c.md",))]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("spare key", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not an object"),
        ('{"expected": 1}', "no query"),
        ('{"query": " ", "expected": 1}', "no query"),
        ('{"query": "x"}', "which documents"),
        ('{"query": "x", "expected": []}', "which documents"),
        ('{"query": "x", "expected": [true]}', "expected is neither"),
        ('{"query": "x", "expected": 1, "tags": {}}', "tags is neither"),
        ('{"query": "x", "expected": 1, "tag": "a"}', "field tag is not known"),
    ],
)
def test_a_wrong_line_is_told_with_its_number(line: str, fault: str) -> None:
    good = '{"query": "x", "expected": 1}'

    with pytest.raises(BadQuestions) as error:
        parse_questions(f"{good}\n{line}\n{good}", is_csv=False)

    [(number, sentence)] = error.value.faults
    assert number == 2
    assert fault in sentence


def test_all_wrong_lines_are_told_at_once() -> None:
    with pytest.raises(BadQuestions) as error:
        parse_questions("query,expected,tags\nx,1\n,2\ny,3,a,beyond\n", is_csv=True)

    assert [line for line, _ in error.value.faults] == [3, 4]
