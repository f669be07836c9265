"""The command `demo`: documents to try kb with."""

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.confirming import require_consent
from kb.cli.options import EngineUrl, Yes
from kb.sample import FOLDER, INDEX, TAG

if TYPE_CHECKING:
    from kb.cli.exits import Exit
    from kb.client import EngineClient, Json

HITS_SHOWN = 1


def demo(
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the sample again.")] = False,
    yes: Yes = False,
    engine_url: EngineUrl = None,
) -> None:
    """Add a few sample documents and show three searches.

    $ kb demo
    $ kb demo --remove

    The sample is nine short documents of a community garden, with the tag `sample`. With --remove they go again, but
    for those that you have changed, by a tag or a title for example. What you have added yourself stays.
    """
    index = json.loads(INDEX.read_text(encoding="utf-8"))
    if remove:
        _remove(index, engine_url, yes=yes)
    else:
        _show(index, engine_url)


def _show(index: "Json", engine_url: str | None) -> None:
    from kb.cli.calling import call_engine
    from kb.cli.render.demo import show_next, show_search
    from kb.cli.render.links import find_open_engine

    if code := call_engine(engine_url, lambda engine: _add(engine, index)):
        raise typer.Exit(code)
    found = call_engine(engine_url, lambda engine: _search(engine, index["to_try"]))
    for search, answer in zip(index["to_try"], found, strict=True):
        options = [word for tag in _tags_of(search) for word in ("--tag", tag)]
        options += ["--top", str(HITS_SHOWN)] + (["--engine-url", engine_url] if engine_url else [])
        show_search(search, options, answer, open_engine=find_open_engine(engine_url))
    show_next()


async def _add(engine: "EngineClient", index: "Json") -> "Exit":
    from kb.cli.jobs import follow
    from kb.cli.patience import Patience
    from kb.cli.render.terminal import complain

    patience, jobs = Patience(engine, complain), []
    for file in index["files"]:
        send = partial(engine.submit_file, FOLDER / file["name"], tags=file["tags"], source_path=_place_of(index, file))
        jobs.append(await patience.call(send))
    return await follow(engine, [job["id"] for job in jobs], as_json=False)


async def _search(engine: "EngineClient", searches: "list[Json]") -> "list[Json]":
    return [await engine.search(search["q"], tags=_tags_of(search), top=HITS_SHOWN) for search in searches]


def _tags_of(search: "Json") -> list[str]:
    """What else is in the base is not to come first."""
    return [TAG, *search.get("tags", ())]


def _remove(index: "Json", engine_url: str | None, *, yes: bool) -> None:
    from kb.cli.calling import call_engine
    from kb.cli.render.demo import question_before_removing, show_removed
    from kb.cli.render.documents import NOBODY_TO_ASK, NOTHING_DELETED

    found, kept = call_engine(engine_url, lambda engine: _find(engine, index))
    removed = 0
    if found:
        question = question_before_removing(len(found))
        require_consent(question, yes=yes, refusal=NOTHING_DELETED, nobody_to_ask=NOBODY_TO_ASK)
        removed, changed = call_engine(engine_url, lambda engine: _delete(engine, found))
        kept += changed
    show_removed(removed, kept)


async def _find(engine: "EngineClient", index: "Json") -> "tuple[list[Json], int]":
    """What of the sample is there as it came; and how much more, which is somebody's by now.

    What was there before without a place has been given that of the sample, and has counted as changed since.
    """
    from kb.client import read_all

    hashes = {_place_of(index, file): file["content_hash"] for file in index["files"]}
    listed = read_all(engine.list_documents, "documents", source_folder=index["source_folder"])
    there = [document async for document in listed]
    found = [
        document
        for document in there
        if document["updated_at"] is None and document["content_hash"] == hashes.get(document["source_path"])
    ]
    return found, len(there) - len(found)


async def _delete(engine: "EngineClient", documents: "list[Json]") -> tuple[int, int]:
    """How many were deleted, and how many somebody has changed while the question was asked."""
    import httpx

    removed = changed = 0
    for document in documents:
        try:
            await engine.delete_document(document["id"], expected_version=document["version"])
            removed += 1
        except httpx.HTTPStatusError as error:
            if error.response.status_code == httpx.codes.PRECONDITION_FAILED:
                changed += 1
            elif error.response.status_code != httpx.codes.NOT_FOUND:
                raise
    return removed, changed


def _place_of(index: "Json", file: "Json") -> str:
    """Where it is said to come from. No file of a user's is there, so that none is taken for one of the sample's."""
    return f"{index['source_folder']}/{file['name']}"
