"""What is told while a note is in the user's editor."""

from pathlib import Path

from kb.cli.render.differences import render_difference, show_difference
from kb.cli.render.terminal import Json, complain, counted, one_line, open_console

NO_EDITOR = (
    "There is no editor to open. Set EDITOR to yours, for example EDITOR=nano, "
    "or give the text to `kb addnote` or `kb updatenote`."
)
NOT_TEXT = "What the editor saved is not UTF-8 text, so nothing was sent."
NOTHING_WRITTEN = "Nothing was written, so no note was added."
HOW_TO_GO_ON = "[e]dit yours again, with the other text beside it; [o]verwrite the other; [k]eep yours in a file"


def does_not_wait(path: Path) -> str:
    return (
        "The editor ended at once. If its window is still open, have it wait: EDITOR='code --wait'. "
        f"What you save there stays in {path}"
    )


def cannot_start(editor: str, error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else "it is no name of a program"
    return f"The editor {editor} cannot be started: {reason}. Set EDITOR to one that is there. Nothing was sent."


def editor_failed(editor: str, code: int) -> str:
    return f"The editor {editor} ended with exit code {code}, so nothing was sent."


def draft_is_kept(path: Path) -> str:
    return f"Your text is kept in {path}"


def not_a_note(document: Json) -> str:
    return f"Document {document['id']} is not a note. Change the file and add it again with `kb add`."


def unchanged(note: Json) -> str:
    return f"Note {note['id']} is unchanged; nothing was sent."


def emptied(note: Json) -> str:
    return f"A note cannot be empty, so note {note['id']} was left as it is. `kb delete {note['id']}` deletes it."


def overtaken(note: Json) -> str:
    return (
        f"Note {note['id']} was changed by somebody else meanwhile and is now version {note['version']}; nothing was "
        f"overwritten. `kb history {note['id']} --diff` shows what changed; `kb updatenote {note['id']} - < FILE` "
        "saves yours."
    )


def show_conflict(before: Json, now: Json) -> None:
    complain(f"Note {now['id']} was changed by somebody else while you were editing it. This is what they changed:\n")
    show_difference(render_difference(before, now), open_console(stderr=True))
    complain("")


def lies_beside(path: Path) -> str:
    return f"The other text is in {path}"


def show_updated(note: Json) -> None:
    chunks = counted(note["chunk_count"], "chunk")
    open_console().print(one_line(f"Note {note['id']} updated: {note['title']} (version {note['version']}, {chunks})"))


def show_retitled(document: Json) -> None:
    open_console().print(one_line(f"Document {document['id']} is now called {document['title']}"))
