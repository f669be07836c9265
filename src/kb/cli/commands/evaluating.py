"""The command `eval`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.exits import Exit
from kb.cli.options import EngineUrl

if TYPE_CHECKING:
    from kb.cli.evaluating.questions import Question
    from kb.cli.evaluating.running import Outcome
    from kb.client import EngineClient


def evaluate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Questions as JSON Lines, or CSV; `-` reads JSON Lines from stdin.")
    ],
    *,
    min_recall: Annotated[
        float,
        typer.Option("--min-recall", min=0, max=1, metavar="SHARE", help="Exit with 1 if hybrid Recall@10 is below."),
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with figures and misses.")] = False,
    engine_url: EngineUrl = None,
) -> None:
    """Measure how well search answers your own questions.

    $ kb eval questions.jsonl
    $ kb eval questions.csv --min-recall 0.9

    Each line of the file is a question with the documents that should be found:
    {"query": "spare key", "expected": ["keys.md", 42], "tags": ["home"]}. A document is named by its number, UUID,
    file name, title, or the end of its path; tags may be left out. A CSV file has a header (query,expected,tags), and
    `;` between several in a cell.

    Of the first ten that are found, nDCG@10 tells how good their order is, Recall@10 how much of what you expected is
    there, MRR@10 how far up the first of it stands. All are 1 at best. Nothing is changed by it.
    """
    from kb.cli.evaluating.running import average
    from kb.cli.render.evaluating import show_evaluation, too_low, warn, written_out
    from kb.cli.render.terminal import complain, print_json

    outcomes = _evaluate(_read_questions(file), engine_url)
    averages = average(outcomes)
    warn(outcomes)
    if as_json:
        print_json(written_out(outcomes, averages))
    else:
        show_evaluation(outcomes, averages)
    if averages["hybrid"]["recall"] < min_recall:
        complain(too_low(averages["hybrid"]["recall"], min_recall))
        raise typer.Exit(Exit.FAILED)


def _evaluate(questions: "list[Question]", engine_url: str | None) -> "list[Outcome]":
    from kb.cli.calling import call_engine
    from kb.cli.evaluating.questions import BadQuestions
    from kb.cli.evaluating.running import evaluate_questions
    from kb.cli.render.evaluating import wrong_lines
    from kb.cli.render.progress import progress_of_steps
    from kb.cli.render.terminal import complain

    async def ask(engine: "EngineClient") -> "list[Outcome]":
        with progress_of_steps() as on_progress:
            return await evaluate_questions(engine, questions, on_progress)

    try:
        return call_engine(engine_url, ask)
    except BadQuestions as error:
        complain(wrong_lines(error.faults))
        raise typer.Exit(Exit.USAGE) from None


def _read_questions(file: str) -> "list[Question]":
    """Ends the command if they cannot be read, before any is asked."""
    from kb.cli.evaluating.questions import BadQuestions, parse_questions
    from kb.cli.render.evaluating import NO_QUESTIONS, NOT_UTF8, cannot_be_read, wrong_lines
    from kb.cli.render.terminal import complain

    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        questions = parse_questions(content.decode("utf-8-sig"), is_csv=file.lower().endswith(".csv"))
    except OSError as error:
        complain(cannot_be_read(file, error))
        raise typer.Exit(Exit.NOT_FOUND if isinstance(error, FileNotFoundError) else Exit.FAILED) from None
    except UnicodeDecodeError:
        complain(NOT_UTF8)
        raise typer.Exit(Exit.USAGE) from None
    except BadQuestions as error:
        complain(wrong_lines(error.faults))
        raise typer.Exit(Exit.USAGE) from None
    if not questions:
        complain(NO_QUESTIONS)
        raise typer.Exit(Exit.USAGE)
    return questions
