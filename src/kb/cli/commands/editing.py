"""The command `edit`."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.completion.candidates import complete_notes
from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import AsJson, EngineUrl, require_something

if TYPE_CHECKING:
    from kb.cli.drafts import Draft
    from kb.client import EngineClient, Json


class Choice(StrEnum):
    """What to do when somebody else was faster."""

    EDIT_AGAIN = "e"
    OVERWRITE = "o"
    KEEP = "k"


EditedId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The note's number or UUID; with --title any document's.", autocompletion=complete_notes
    ),
]
NewTitle = Annotated[
    str | None,
    typer.Option("--title", help="Only give it this title; opens no editor.", callback=require_something),
]


def edit(
    document_id: EditedId, *, title: NewTitle = None, as_json: AsJson = False, engine_url: EngineUrl = None
) -> None:
    """Edit a note in your editor, or the title of any document.

    $ kb edit 42
    $ kb edit 12 --title "Lease of the boathouse, 2024"

    The editor is VISUAL, else EDITOR, else nano or vi; one with a window has to wait, as with EDITOR="code --wait".
    The note is saved when you close it. If somebody else has changed it meanwhile you see what they did and decide.
    Whatever happens, what you typed is not lost.
    """
    from kb.cli.drafts import choose_editor, open_draft
    from kb.cli.render.editing import not_a_note, show_updated, unchanged
    from kb.cli.render.terminal import complain, print_json

    if title is not None:
        _retitle(document_id, title, engine_url, as_json=as_json)
        return
    editor = choose_editor()
    note = _read(document_id, engine_url)
    if "text" not in note:
        end_with(not_a_note(note), Exit.REFUSED)
    with open_draft(f"note-{note['id']}.md", note["text"]) as draft:
        draft.edit(editor)
        saved = _save(draft, note, editor, engine_url)
    if saved is None:
        complain(unchanged(note))
    elif as_json:
        print_json(saved)
    else:
        show_updated(saved)


def _retitle(document_id: str, title: str, engine_url: str | None, *, as_json: bool) -> None:
    from kb.cli.calling import call_engine
    from kb.cli.render.editing import show_retitled
    from kb.cli.render.terminal import print_json

    document = call_engine(engine_url, lambda engine: engine.update_document(document_id, title=title))
    if as_json:
        print_json(document)
    else:
        show_retitled(document)


def _save(draft: "Draft", note: "Json", editor: list[str], engine_url: str | None) -> "Json | None":
    """The note with the new text; None if that is what it says anyway. Ends the command if it cannot be saved."""
    from kb.cli.render.editing import emptied, lies_beside
    from kb.cli.render.terminal import complain

    while (text := draft.read()) != note["text"]:
        if not text.strip():
            end_with(emptied(note), Exit.FAILED)
        if saved := _update(note, text, engine_url):
            return saved
        before, note = note, _read(note["id"], engine_url)
        # Tags and titles are not sent, so there is nothing to overwrite in them.
        if note["text"] in (before["text"], text):
            continue
        while _choose(before, note) is Choice.EDIT_AGAIN:
            complain(lies_beside(draft.put_beside(note["text"])))
            draft.edit(editor)
            # Who only looked has not decided yet.
            if draft.read() != text:
                break
    return None


def _read(document_id: int | str, engine_url: str | None) -> "Json":
    from kb.cli.calling import call_engine

    return call_engine(engine_url, lambda engine: engine.get_document(document_id, chunks=False))


def _update(note: "Json", text: str, engine_url: str | None) -> "Json | None":
    """The note as it is then; None if it no longer was the version that was read."""
    import httpx

    from kb.cli.calling import call_engine

    async def update(engine: "EngineClient") -> "Json | None":
        try:
            return await engine.update_note(note["id"], text, expected_version=note["version"])
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.PRECONDITION_FAILED:
                raise
            return None

    return call_engine(engine_url, update)


def _choose(before: "Json", now: "Json") -> Choice:
    """What the user wants. Ends the command if that is to keep the text in its file, or if there is nobody to ask."""
    from kb.cli.render.editing import HOW_TO_GO_ON, overtaken, show_conflict

    if not sys.stdin.isatty():
        end_with(overtaken(now), Exit.REFUSED)
    show_conflict(before, now)
    answer = ""
    while answer not in set(Choice):
        try:
            answer = typer.prompt(HOW_TO_GO_ON, default=Choice.KEEP.value, err=True).strip().lower()[:1]
        except typer.Abort:
            raise KeyboardInterrupt from None
    if answer == Choice.KEEP:
        end_with(overtaken(now), Exit.REFUSED)
    return Choice(answer)
