"""The command `history`."""

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import AsJson, EngineUrl, NoteId

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kb.client import EngineClient, Json

# A revision comes with its text, which may be a million characters long.
REVISIONS_A_CALL = 20
_VERSIONS = re.compile(r"([1-9][0-9]{0,8})(?:\.\.([1-9][0-9]{0,8}))?")


def history(
    document_id: NoteId,
    version: Annotated[
        str | None,
        typer.Argument(metavar="VERSION", help="Show what this version said; of two (3..5), how they differ."),
    ] = None,
    *,
    diff: Annotated[bool, typer.Option("--diff", help="Show what the version, or else the newest, changed.")] = False,
    revert: Annotated[
        int | None, typer.Option("--revert", min=1, metavar="N", help="Bring a version back, as a new version.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, metavar="N", help="How many versions to list at most.")
    ] = 20,
    offset: Annotated[
        int, typer.Option("--offset", min=0, metavar="N", help="How many of the newest to leave out.")
    ] = 0,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Show what a note said before, or bring it back.

    $ kb history 42
    $ kb history 42 3
    $ kb history 42 --diff 3
    $ kb history 42 3..5
    $ kb history 42 --revert 3

    Without more it lists the versions, the newest first, with how many lines each added and removed. A change of
    tags alone makes a version too, but not one of the text, so numbers may be missing. Bringing a version back makes
    a new one: nothing is lost by it.
    """
    wanted = _parse_versions(version)
    if revert is not None and (diff or wanted):
        raise typer.BadParameter("--revert goes alone.")
    if revert is not None:
        _revert(document_id, revert, engine_url, as_json=as_json)
    elif diff or len(wanted) > 1:
        _show_difference(document_id, wanted, engine_url, as_json=as_json)
    elif wanted:
        _show_text(document_id, wanted[0], engine_url, as_json=as_json)
    else:
        _list(document_id, engine_url, limit=limit, offset=offset, as_json=as_json)


def _parse_versions(given: str | None) -> list[int]:
    found = _VERSIONS.fullmatch(given or "")
    if given is not None and found is None:
        raise typer.BadParameter("A version is a number like 3, and two of them are 3..5.")
    return [int(number) for number in found.groups() if number] if found else []


def _list(document_id: str, engine_url: str | None, *, limit: int, offset: int, as_json: bool) -> None:
    from kb.cli.calling import call_engine
    from kb.cli.render.history import show_revisions
    from kb.cli.render.terminal import print_json

    async def read(engine: "EngineClient") -> "list[Json]":
        """One more than asked for: what the last one changed is seen by the one before it."""
        revisions: list[Json] = []
        async for revision in _read_revisions(engine, document_id, offset):
            revisions.append(revision)
            if len(revisions) > limit:
                break
        return revisions

    if as_json:
        print_json(
            call_engine(engine_url, lambda engine: engine.list_revisions(document_id, limit=limit, offset=offset))
        )
    else:
        show_revisions(document_id, call_engine(engine_url, read), limit=limit, offset=offset)


def _show_text(document_id: str, version: int, engine_url: str | None, *, as_json: bool) -> None:
    from kb.cli.render.history import show_text
    from kb.cli.render.terminal import print_json

    revision, _ = _find(document_id, version, engine_url)
    if as_json:
        print_json(revision)
    else:
        show_text(revision)


def _show_difference(document_id: str, versions: list[int], engine_url: str | None, *, as_json: bool) -> None:
    """Of two versions, or of one and the one before it."""
    from kb.cli.render.history import show_change
    from kb.cli.render.terminal import print_json

    new, old = _find(document_id, versions[-1] if versions else None, engine_url)
    if len(versions) > 1:
        old, _ = _find(document_id, versions[0], engine_url)
    if as_json:
        for revision in filter(None, (old, new)):
            print_json(revision)
    else:
        show_change(old, new)


def _revert(document_id: str, version: int, engine_url: str | None, *, as_json: bool) -> None:
    from kb.cli.calling import call_engine
    from kb.cli.render.history import show_reverted
    from kb.cli.render.terminal import print_json

    now = call_engine(engine_url, lambda engine: engine.get_document(document_id, chunks=False))
    note = call_engine(
        engine_url, lambda engine: engine.revert_note(document_id, version, expected_version=now["version"])
    )
    if as_json:
        print_json(note)
    else:
        show_reverted(note, version)


def _find(document_id: str, version: int | None, engine_url: str | None) -> "tuple[Json, Json | None]":
    """A revision, or the newest, and the one before it. Ends the command if there is no such version."""
    from kb.cli.calling import call_engine
    from kb.cli.render.history import no_such_version

    async def find(engine: "EngineClient") -> "list[Json]":
        found: list[Json] = []
        async for revision in _read_revisions(engine, document_id):
            if found or version in (None, revision["version"]):
                found.append(revision)
            if len(found) > 1 or (version is not None and not found and revision["version"] < version):
                break
        return found

    found = call_engine(engine_url, find)
    if not found:
        end_with(no_such_version(document_id, version), Exit.NOT_FOUND)
    return found[0], found[1] if len(found) > 1 else None


async def _read_revisions(engine: "EngineClient", document_id: str, offset: int = 0) -> "AsyncIterator[Json]":
    """The newest first. What is added meanwhile moves the others down a place: none is given twice."""
    from kb.client import read_all

    last = None
    list_page = partial(engine.list_revisions, document_id)
    async for revision in read_all(list_page, "revisions", limit=REVISIONS_A_CALL, offset=offset):
        if last is None or revision["version"] < last:
            last = revision["version"]
            yield revision
