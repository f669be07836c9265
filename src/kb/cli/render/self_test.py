"""Which documents are hard to find, why, and what to do."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from kb.cli.evaluating.attempts import By, Figures, Hit, Miss, measure
from kb.cli.evaluating.diagnosis import (
    GarbledText,
    NearDuplicates,
    NoText,
    Outranked,
    Reason,
    TitleSaysNothing,
    TitleShared,
    UnknownLanguage,
    UnreadParts,
)
from kb.cli.evaluating.self_test import SelfTest, Verdict
from kb.cli.render.tables import print_row, print_table
from kb.cli.render.terminal import Json, complain, counted, one_line, open_console, print_indented

NOTHING_TO_FIND = "There are no such documents. `kb add` adds some; `kb list` lists what there is."
_DEGRADED = "The embedding model is still loading: only words were searched. Try again when it is there."
# More nobody reads at once; `--json` tells all.
_MOST_DOCUMENTS = 25
_MOST_NAMED = 3

_SCAN_ANEW = "`kb get ID` shows what was read. If you can read the paper, scan it anew, larger or with more contrast."
_RETITLE = '`kb edit ID --title "What it is about"` gives it a title that finds it.'
_ADVICE: Mapping[type[Reason], tuple[str, str]] = {
    NoText: ("No text", f"{_SCAN_ANEW} A picture without words has only its title: {_RETITLE}"),
    GarbledText: ("Garbled text", f"{_SCAN_ANEW} If a PDF brings rubbish along, `kb add FILE --ocr` reads its pages."),
    UnreadParts: (
        "Unread parts",
        "`kb get ID -o FILE` saves the file. Open it, print it into a new PDF, and add that.",
    ),
    NearDuplicates: ("Near-duplicates", "`kb get ID` shows each; `kb delete ID` deletes one that you do not need."),
    UnknownLanguage: ("Language", "Search with its exact words and `--mode fts`. Another model may know the language."),
    TitleSaysNothing: ("Title says nothing", _RETITLE),
    TitleShared: ("Shared title", _RETITLE),
    Outranked: ("Others fit better", f"A tag narrows the search: `kb tag ID +TAG`, `kb search --tag TAG`. {_RETITLE}"),
}


def warn(outcome: SelfTest) -> None:
    """What makes the figures less telling than they look."""
    if outcome.is_degraded:
        complain(_DEGRADED)
    asked = len(outcome.verdicts)
    if not outcome.total:
        complain(NOTHING_TO_FIND)
    elif asked < outcome.total:
        complain(f"A sample: {asked} of {outcome.total} documents. `--documents {outcome.total}` asks for all.")


def show_self_test(outcome: SelfTest) -> None:
    if not outcome.verdicts:
        return
    console = open_console()
    _show_figures(console, outcome)
    hard = outcome.hard_to_find
    if not hard:
        console.print(Text("\nEvery document is found by its title and by its own words.", "green"))
        _show_wordless_pictures(console, outcome)
        return
    console.print(f"\n{_headline(hard, len(outcome.verdicts))}")
    for verdict in hard[:_MOST_DOCUMENTS]:
        _show_verdict(console, verdict)
    if len(hard) > _MOST_DOCUMENTS:
        console.print(f"\n{counted(len(hard) - _MOST_DOCUMENTS, 'more document')}: `kb eval --json` tells all.")
    _show_wordless_pictures(console, outcome)
    _show_advice(console, hard)


def describe(outcome: SelfTest) -> Json:
    return {
        "documents": len(outcome.verdicts),
        "total": outcome.total,
        "measures": {by.value: _describe_figures(measure(outcome.attempts, by)) for by in By},
        "lost": sum(verdict.is_lost for verdict in outcome.hard_to_find),
        "wordless_pictures": [picture["id"] for picture in outcome.wordless_pictures],
        "hard_to_find": [_describe_verdict(verdict) for verdict in outcome.hard_to_find],
    }


def _show_figures(console: Console, outcome: SelfTest) -> None:
    figures = [measure(outcome.attempts, by) for by in By]
    rows = [
        ("asked", *(f"{each.asked}" for each in figures)),
        ("found", *(f"{each.found}" for each in figures)),
        ("Recall@10", *(f"{each.recall:.3f}" for each in figures)),
        ("MRR@10", *(f"{each.mrr:.3f}" for each in figures)),
    ]
    if console.is_terminal:
        header = (counted(len(outcome.verdicts), "document"), "by title", "by phrase")
        # A table cuts its last column, and leaves it to others to align it.
        cells = [[Text(name), Text(title), Text(phrase.rjust(len(header[-1])))] for name, title, phrase in rows]
        print_table(console, header, cells, right={header[1]})
    else:
        for row in [("measure", *By), *rows]:
            print_row(*row)


def _headline(hard: Sequence[Verdict], asked: int) -> str:
    lost = sum(verdict.is_lost for verdict in hard)
    told = f"{len(hard)} of {counted(asked, 'document')} {'is' if len(hard) == 1 else 'are'}"
    if lost == len(hard):
        return f"{told} as good as lost:"
    return f"{told} hard to find, {lost} of them as good as lost:" if lost else f"{told} hard to find:"


def _show_verdict(console: Console, verdict: Verdict) -> None:
    document = verdict.document
    mark = ("  lost", "red") if verdict.is_lost else ""
    console.print(Text.assemble("\n", (f"{document['id']}  ", "dim"), (one_line(document["title"]), "bold"), mark))
    for reason in verdict.reasons:
        print_indented(console, Text(one_line(_explain(reason, document))))
    for miss in verdict.misses:
        print_indented(console, Text(one_line(_explain_miss(miss)), "dim"))


def _explain(reason: Reason, document: Json) -> str:
    match reason:
        case NoText(words):
            return f"Only {counted(words, 'word')} could be read in it." if words else "No text could be read in it."
        case UnreadParts(unit, parts):
            return f"{_name_parts(unit, parts).capitalize()} could not be read."
        case GarbledText(was_recognised, pages):
            where = f" on {_name_parts('page', [*map(str, pages)])}" if pages else ""
            what = "What was recognised" if was_recognised else "The text that the file brings along"
            return f"{what}{where} is hardly language."
        case NearDuplicates(others):
            return f"Others came that say nearly the same: {_name_hits(others)}."
        case UnknownLanguage(language):
            return f"It is in {language}, which the model hardly knows: only its exact words find it."
        case TitleSaysNothing():
            return f"Its title says nothing of it: {document['title']}"
        case TitleShared(documents):
            return f"{documents} documents have this title."
        case Outranked(miss):
            return f"Other documents fit its {miss.attempt.by} better: {_name_hits(miss.attempt.hits) or 'none came'}."


def _explain_miss(miss: Miss) -> str:
    place = "not found" if miss.place is None else f"at place {miss.place}"
    return f"{place} by {miss.attempt.by}: {miss.attempt.query}"


def _show_wordless_pictures(console: Console, outcome: SelfTest) -> None:
    pictures = outcome.wordless_pictures
    if pictures:
        named = ", ".join(f"{picture['id']}" for picture in pictures[:_MOST_DOCUMENTS])
        more = "" if len(pictures) <= _MOST_DOCUMENTS else ", ..."
        found = f"In {counted(len(pictures), 'picture')} no text was recognised; nothing but the title finds"
        console.print(f"\n{found} {'it' if len(pictures) == 1 else 'them'}: {named}{more}")


def _show_advice(console: Console, hard: Sequence[Verdict]) -> None:
    causes = Counter(type(reason) for verdict in hard for reason in verdict.reasons)
    console.print("\nWhat to do:")
    for cause, count in causes.most_common():
        name, advice = _ADVICE[cause]
        print_indented(console, Text.assemble((f"{name} ({count})  ", "bold"), advice))


def _name_parts(unit: str, parts: Sequence[str]) -> str:
    """Each part is a number, or a range of them."""
    is_one = len(parts) == 1 and "-" not in parts[0]
    return f"{unit if is_one else f'{unit}s'} {', '.join(parts)}"


def _name_hits(hits: Sequence[Hit]) -> str:
    named = "; ".join(f"{hit.document_id}: {hit.title}" for hit in hits[:_MOST_NAMED])
    return f"{named}; {len(hits) - _MOST_NAMED} more" if len(hits) > _MOST_NAMED else named


def _describe_figures(figures: Figures) -> Json:
    return {"asked": figures.asked, "found": figures.found, "Recall@10": figures.recall, "MRR@10": figures.mrr}


def _describe_verdict(verdict: Verdict) -> Json:
    document = verdict.document
    return {
        "document_id": document["id"],
        "title": document["title"],
        "lost": verdict.is_lost,
        "reasons": [_describe_reason(reason, document) for reason in verdict.reasons],
        "missed": [_describe_miss(miss) for miss in verdict.misses],
    }


def _describe_reason(reason: Reason, document: Json) -> Json:
    told = {"code": reason.code, "message": _explain(reason, document), "advice": _ADVICE[type(reason)][1]}
    match reason:
        case UnreadParts(unit, parts):
            return {**told, f"{unit}s": parts}
        case GarbledText(_, pages):
            return {**told, "pages": pages}
        case NearDuplicates(others):
            return {**told, "others": [hit._asdict() for hit in others]}
        case UnknownLanguage(language):
            return {**told, "language": language}
        case TitleShared(documents):
            return {**told, "documents": documents}
        case _:
            return told


def _describe_miss(miss: Miss) -> Json:
    came = [hit._asdict() for hit in miss.attempt.hits]
    return {"by": miss.attempt.by.value, "query": miss.attempt.query, "place": miss.place, "came": came}
