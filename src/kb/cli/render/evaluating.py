"""How well search answered the user's own questions."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from kb.cli.evaluating.asking import MODES, Outcome, Target
from kb.cli.render.tables import print_row, print_table
from kb.cli.render.terminal import Json, complain, counted, one_line, open_console, print_indented

Averages = Mapping[str, Mapping[str, float]]

NO_QUESTIONS = "There are no questions in it. `kb eval --help` shows how one looks."
NOT_UTF8 = "The questions are not UTF-8 text. Convert the file and try again."
_NAMES = {"ndcg": "nDCG@10", "recall": "Recall@10", "mrr": "MRR@10"}
# So many of those that came instead tell enough.
_MOST_SHOWN = 3
_MOST_FAULTS = 20


def wrong_lines(faults: Sequence[tuple[int, str]]) -> str:
    told = [f"Line {line}: {one_line(fault)}" for line, fault in faults[:_MOST_FAULTS]]
    more = len(faults) - len(told)
    told += [f"{more} more are wrong as well."] if more else []
    return "\n".join([*told, "Put that right and try again. `kb eval --help` shows how a question looks."])


def cannot_be_read(file: str, error: OSError) -> str:
    return f"{one_line(file)} cannot be read: {error.strerror}. Look at its name and try again."


def too_low(recall: float, least: float) -> str:
    return f"Recall@10 is {recall:.3f}, below {least:g}."


def warn(outcomes: Sequence[Outcome]) -> None:
    """What makes the figures less telling than they look."""
    for outcome in outcomes:
        for target in outcome.targets:
            if not target.document_ids:
                complain(
                    f"Line {outcome.question.line}: there is no document {one_line(target.name)}; it counts as missed."
                )
    if any(outcome.answers["hybrid"].get("degraded") for outcome in outcomes):
        complain("The embedding model is still loading: hybrid searched by words only. Try again when it is there.")


def show_evaluation(outcomes: Sequence[Outcome], averages: Averages) -> None:
    console = open_console()
    header = (counted(len(outcomes), "question"), *MODES)
    if console.is_terminal:
        rows = [[Text(name), *(Text(f"{averages[mode][key]:.3f}") for mode in MODES)] for key, name in _NAMES.items()]
        print_table(console, header, rows, right=set(MODES))
    else:
        print_row("measure", *MODES)
        for key, name in _NAMES.items():
            print_row(name, *(f"{averages[mode][key]:.3f}" for mode in MODES))
    missing = [outcome for outcome in outcomes if outcome.missed()]
    if missing:
        console.print(f"\n{len(missing)} of {counted(len(outcomes), 'question')} missed something among the first ten:")
    for outcome in missing:
        _show_missed(outcome)


def _show_missed(outcome: Outcome) -> None:
    console = open_console()
    console.print(
        Text.assemble("\n", (f"line {outcome.question.line}  ", "dim"), (one_line(outcome.question.query), "bold"))
    )
    for target in outcome.missed():
        print_indented(console, Text.assemble(("expected  ", "dim"), (one_line(_explain(outcome, target)), "red")))
    for hit in outcome.answers["hybrid"]["results"][:_MOST_SHOWN]:
        print_indented(console, Text.assemble(("came      ", "dim"), one_line(f"{hit['document_id']}: {hit['title']}")))
    if not outcome.answers["hybrid"]["results"]:
        print_indented(console, Text("nothing came", "dim"))


def _explain(outcome: Outcome, target: Target) -> str:
    if not target.document_ids:
        return f"{target.name} (is not there)"
    place = outcome.place_of(target)
    return f"{target.name} ({'not found' if place is None else f'at place {place}'})"


def describe(outcomes: Sequence[Outcome], averages: Averages) -> Json:
    return {
        "questions": len(outcomes),
        "measures": {mode: {_NAMES[key]: figure for key, figure in averages[mode].items()} for mode in MODES},
        "missed": [_describe_missed(outcome) for outcome in outcomes if outcome.missed()],
    }


def _describe_missed(outcome: Outcome) -> Json:
    missed = [
        {"name": target.name, "document_ids": sorted(target.document_ids), "place": outcome.place_of(target)}
        for target in outcome.missed()
    ]
    came = [{"document_id": hit["document_id"], "title": hit["title"]} for hit in outcome.answers["hybrid"]["results"]]
    return {"line": outcome.question.line, "query": outcome.question.query, "missed": missed, "came": came}
