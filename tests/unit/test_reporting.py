import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.adding.reporting import Report
from kb.cli.adding.sources import Source
from kb.cli.adding.submitting import Submission
from kb.cli.calling import Failure
from kb.cli.exits import Exit
from kb.cli.render.progress import Board
from kb.cli.watching_jobs import Outcome

UNSUPPORTED = Failure("No.", Exit.REFUSED, "unsupported_format")


def submission(place: int, outcome: Outcome | None = None, *, is_named: bool = True) -> Submission:
    job = {
        "id": place,
        "status": "completed",
        "document_id": place,
        "duplicate": False,
        "replaced": False,
        "chunks_created": 1,
    }
    return Submission(Source(f"file{place}", ("", b""), None, is_named), outcome or job)


def told_lines(ending: Sequence[int]) -> tuple[list[str], int]:
    """What is written if files end in that order, and how much of it before the last has ended."""
    report = Report(len(ending), [], as_json=False, is_verbose=False)
    with redirect_stdout(io.StringIO()) as written:
        board = Board(None, len(ending))
        for place in ending:
            before = len(written.getvalue().splitlines())
            report.take(board, place, submission(place))
        report.tell_early(board)
    return written.getvalue().splitlines(), before


@given(st.integers(1, 12).flatmap(lambda files: st.permutations(range(files))))
def test_in_whatever_order_files_end_they_are_told_in_the_order_of_the_paths(ending: list[int]) -> None:
    lines, before = told_lines(ending)

    assert lines == [f"Document {place} added: file{place} (1 chunk)" for place in range(len(ending))]
    # Nobody waits for later ones.
    assert before == ending[-1]


def test_what_ended_behind_one_that_was_given_up_is_told_after_all() -> None:
    report = Report(4, [], as_json=False, is_verbose=False)
    with redirect_stdout(io.StringIO()) as written, redirect_stderr(io.StringIO()) as remarks:
        board = Board(None, 4)
        report.begin()
        report.take(board, 3, submission(3))
        report.take(board, 2, submission(2))
        report.jobs_under_way = 1
        report.tell_early(board)
        report.conclude()

    assert [line[:10] for line in written.getvalue().splitlines()] == ["Document 2", "Document 3"]
    assert "1 file was not sent" in remarks.getvalue()
    assert "still works on 1 file:" in remarks.getvalue()


@pytest.mark.parametrize(
    ("submissions", "code"),
    [
        ([submission(0)], Exit.DONE),
        ([submission(0, UNSUPPORTED)], Exit.REFUSED),
        ([submission(0, UNSUPPORTED, is_named=False)], Exit.REFUSED),
        ([submission(0), submission(1, UNSUPPORTED, is_named=False)], Exit.DONE),
        ([submission(0), submission(1, UNSUPPORTED)], Exit.JOB_FAILED),
        ([submission(0, Failure("Gone.", Exit.FAILED))], Exit.FAILED),
        ([submission(0, {"id": 1, "status": "cancelled", "error": None})], Exit.JOB_FAILED),
    ],
)
def test_the_exit_code_tells_how_all_files_fared(submissions: list[Submission], code: Exit) -> None:
    """C3"""
    report = Report(len(submissions), [], as_json=False, is_verbose=False)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        board = Board(None, len(submissions))
        report.begin()
        for place, one in enumerate(submissions):
            report.take(board, place, one)

        assert report.conclude() is code
