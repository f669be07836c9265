"""The command `eval`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.filters import DocType
from kb.cli.options import STANDARD_STREAM, EngineUrl, Tag, Tags, join_tags

if TYPE_CHECKING:
    from kb.cli.evaluating.asking import Outcome
    from kb.cli.evaluating.questions import Question
    from kb.cli.evaluating.self_test import SelfTest
    from kb.client import EngineClient

# A search takes some 25 ms, and a document four of them.
MOST_DOCUMENTS = 1_000


File = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="Questions as JSON Lines, or CSV; `-` reads JSON Lines from stdin.",
        show_default=False,
    ),
]
MinRecall = Annotated[
    float,
    typer.Option("--min-recall", min=0, max=1, metavar="SHARE", help="Exit with 1 if Recall@10 is below."),
]
Documents = Annotated[
    int | None,
    typer.Option(
        "--documents",
        min=1,
        metavar="N",
        help=f"Without FILE: ask for so many documents at most, spread over all ({MOST_DOCUMENTS}).",
    ),
]
FiguresAsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object with figures and misses.")]


def evaluate(
    file: File = None,
    *,
    min_recall: MinRecall = 0.0,
    documents: Documents = None,
    tags: Tags = None,
    tag: Tag = None,
    doc_type: DocType = None,
    as_json: FiguresAsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Measure how well search finds your documents, or answers your own questions.

    $ kb eval
    $ kb eval --type pdf --documents 200
    $ kb eval questions.jsonl
    $ kb eval questions.csv --min-recall 0.9

    Without a file each document is searched for by its title, and by rare words out of the beginning, the middle and
    the end of its text. It should be among the first ten; those that are not are named, worst first, with why and what
    to do. So are documents without text, and with text that is garbled. Recall is then that of the phrases.

    Each line of the file is a question with the documents that should be found:
    {"query": "spare key", "expected": ["keys.md", 42], "tags": ["home"]}. A document is named by its number, UUID,
    file name, title, or the end of its path; tags may be left out. A CSV file has a header (query,expected,tags), and
    `;` between several in a cell.

    Of the first ten that are found, nDCG@10 tells how good their order is, Recall@10 how much of what you expected is
    there, MRR@10 how far up the first of it stands. All are 1 at best. Nothing is changed by it.
    """
    from kb.cli.render.evaluating import too_low

    if file is None:
        scope_tags = tuple(join_tags(tags, tag))
        recall = _test_base(scope_tags, doc_type, documents or MOST_DOCUMENTS, engine_url, as_json=as_json)
    elif documents or tags or tag or doc_type:
        raise typer.BadParameter("--documents, --tag, --tags and --type choose documents; with FILE it does that.")
    else:
        recall = _ask_questions(file, engine_url, as_json=as_json)
    if recall < min_recall:
        end_with(too_low(recall, min_recall), Exit.FAILED)


def _test_base(
    tags: tuple[str, ...], doc_type: str | None, most: int, engine_url: str | None, *, as_json: bool
) -> float:
    from kb.cli.calling import call_engine
    from kb.cli.evaluating.attempts import By, measure
    from kb.cli.evaluating.reading import Scope
    from kb.cli.evaluating.self_test import run_self_test
    from kb.cli.render.progress import progress_of_steps
    from kb.cli.render.self_test import describe, show_self_test, warn
    from kb.cli.render.terminal import print_json

    async def test(engine: "EngineClient") -> "SelfTest":
        with progress_of_steps() as on_progress:
            return await run_self_test(engine, Scope(tags, doc_type), most, on_progress)

    outcome = call_engine(engine_url, test)
    warn(outcome)
    if as_json:
        print_json(describe(outcome))
    else:
        show_self_test(outcome)
    figures = measure(outcome.attempts, By.PHRASE)
    # Where there is no phrase to ask none is missed, unless that is because nothing can be read.
    is_well = bool(outcome.verdicts) and not outcome.hard_to_find
    return figures.recall if figures.asked else float(is_well)


def _ask_questions(file: str, engine_url: str | None, *, as_json: bool) -> float:
    from kb.cli.evaluating.asking import average
    from kb.cli.render.evaluating import describe, show_evaluation, warn
    from kb.cli.render.terminal import print_json

    outcomes = _evaluate(_read_questions(file), engine_url)
    averages = average(outcomes)
    warn(outcomes)
    if as_json:
        print_json(describe(outcomes, averages))
    else:
        show_evaluation(outcomes, averages)
    return averages["hybrid"]["recall"]


def _evaluate(questions: "list[Question]", engine_url: str | None) -> "list[Outcome]":
    from kb.cli.calling import call_engine
    from kb.cli.evaluating.asking import evaluate_questions
    from kb.cli.evaluating.questions import BadQuestions
    from kb.cli.render.evaluating import wrong_lines
    from kb.cli.render.progress import progress_of_steps

    async def ask(engine: "EngineClient") -> "list[Outcome]":
        with progress_of_steps() as on_progress:
            return await evaluate_questions(engine, questions, on_progress)

    try:
        return call_engine(engine_url, ask)
    except BadQuestions as error:
        end_with(wrong_lines(error.faults), Exit.USAGE)


def _read_questions(file: str) -> "list[Question]":
    """Ends the command if they cannot be read, before any is asked."""
    from kb.cli.evaluating.questions import BadQuestions, parse_questions
    from kb.cli.render.evaluating import NO_QUESTIONS, NOT_UTF8, cannot_be_read, wrong_lines

    try:
        content = sys.stdin.buffer.read() if file == STANDARD_STREAM else Path(file).read_bytes()
        questions = parse_questions(content.decode("utf-8-sig"), is_csv=file.lower().endswith(".csv"))
    except OSError as error:
        end_with(cannot_be_read(file, error), Exit.NOT_FOUND if isinstance(error, FileNotFoundError) else Exit.FAILED)
    except UnicodeDecodeError:
        end_with(NOT_UTF8, Exit.USAGE)
    except BadQuestions as error:
        end_with(wrong_lines(error.faults), Exit.USAGE)
    if not questions:
        end_with(NO_QUESTIONS, Exit.USAGE)
    return questions
