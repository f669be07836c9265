"""What a note said before."""

from collections.abc import Sequence
from itertools import chain

from rich.text import Text

from kb.cli.render.differences import count_changes, render_difference, show_difference
from kb.cli.render.tables import print_row, print_table
from kb.cli.render.terminal import Json, clean, complain, counted, local_time, one_line, open_console


def show_revisions(document_id: str, revisions: Sequence[Json], *, limit: int, offset: int) -> None:
    """One more than `limit` may be there, and is not shown: only what came after it."""
    console = open_console()
    pairs = zip(revisions[:limit], chain(revisions[1:], [None]), strict=False)
    changes = [(new, count_changes(old["text"] if old else "", new["text"])) for new, old in pairs]
    if console.is_terminal:
        rows = [_row(revision, *change) for revision, change in changes]
        print_table(console, ("version", "when", "lines", "title"), rows, right={"version"})
    else:
        for revision, (added, removed) in changes:
            print_row(revision["version"], revision["created_at"], f"+{added}", f"-{removed}", revision["title"])
    if not revisions:
        complain(f"There are no versions beyond the newest {offset}.")
    if len(revisions) > limit:
        complain(f"There are more: `kb history {one_line(document_id)} --offset {offset + limit}` shows them.")


def _row(revision: Json, added: int, removed: int) -> list[Text]:
    style = "bold" if revision["is_current"] else ""
    lines = Text.assemble((f"+{added}", "green"), " ", (f"-{removed}", "red"))
    when = Text(local_time(revision["created_at"]))
    return [Text(str(revision["version"]), style), when, lines, Text(one_line(revision["title"]), style)]


def show_text(revision: Json) -> None:
    # Not by rich, which would turn tabs into spaces.
    print(clean(revision["text"]))


def show_change(old: Json | None, new: Json) -> None:
    """What the text of `new` has that `old`, if there was one, had not, and the other way round."""
    lines = list(render_difference(old, new))
    show_difference(iter(lines), open_console())
    if not lines and old is not None:
        before, now = (one_line(version["title"]) for version in (old, new))
        titles = f" The title was {before} and became {now}." if before != now else ""
        complain(f"The text is the same in both versions.{titles}")


def show_reverted(note: Json, version: int) -> None:
    chunks = counted(note["chunk_count"], "chunk")
    told = f"Note {note['id']} is again as in version {version}: {note['title']} (version {note['version']}, {chunks})"
    open_console().print(one_line(told))


def no_such_version(document_id: str, version: int | None) -> str:
    note = one_line(document_id)
    return f"Note {note} has no version {version} of its text. `kb history {note}` lists those it has."
