"""Commands on tags: `tags`, `tag`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.completion.candidates import complete_tags
from kb.cli.options import AsJson, DocumentId, EngineUrl

if TYPE_CHECKING:
    from kb.client import EngineClient, Json

ADD, REMOVE = "+", "-"


def _complete_changes(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    sign, name = incomplete[:1] or ADD, incomplete[1:]
    if sign in (ADD, REMOVE):
        yield from ((f"{sign}{tag}", told) for tag, told in complete_tags(ctx, name))


Changes = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="+TAG|-TAG",
        help="Tags to add and to remove.",
        autocompletion=_complete_changes,
        show_default=False,
    ),
]


def tags(*, as_json: AsJson = False, engine_url: EngineUrl = None) -> None:
    """List all tags and how many documents have them.

    $ kb tags
    $ kb tags | sort
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.tags import show_tag_counts
    from kb.cli.render.terminal import print_json

    async def read(engine: "EngineClient") -> "Json":
        """All tags, in as many calls as needed."""
        answer = page = await engine.list_tags()
        while page["tags"] and len(answer["tags"]) < page["total"]:
            page = await engine.list_tags(offset=len(answer["tags"]))
            answer["tags"] += page["tags"]
        return answer

    answer = call_engine(engine_url, read)
    if as_json:
        print_json(answer)
    else:
        show_tag_counts(answer)


def tag(
    document_id: DocumentId, changes: Changes = None, *, as_json: AsJson = False, engine_url: EngineUrl = None
) -> None:
    """Add and remove tags of a document.

    $ kb tag 12 +invoice -draft
    $ kb tag 12 "+to be paid"
    $ kb tag 12

    Prints the tags it has then; in a pipe one a line.
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.tags import show_tags_of
    from kb.cli.render.terminal import print_json

    added, removed = _parse_changes(changes or [])
    if added or removed:
        document = call_engine(engine_url, lambda engine: engine.change_tags(document_id, add=added, remove=removed))
    else:
        document = call_engine(engine_url, lambda engine: engine.get_document(document_id, chunks=False))
    if as_json:
        print_json(document)
    else:
        show_tags_of(document)


def _parse_changes(words: list[str]) -> tuple[list[str], list[str]]:
    """What to add and what to remove. Raises `typer.BadParameter` for a word that says neither."""
    for word in words:
        if word[:1] not in (ADD, REMOVE) or not word[1:].strip():
            name = word.lstrip("+-").strip() or "TAG"
            raise typer.BadParameter(
                f"{word!r} does not say what to do. Write '+{name}' to add it, '-{name}' to remove it."
            )
    added, removed = ([word[1:] for word in words if word.startswith(sign)] for sign in (ADD, REMOVE))
    return added, removed
