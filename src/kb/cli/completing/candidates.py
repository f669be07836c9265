"""What the shell offers when a tag or an id is half typed; nothing when the engine does not answer.

Each takes what is typed so far and yields values, each with a few words on what it is.
"""

from collections.abc import Iterator
from typing import Any

import typer

# Nobody reads a longer list, and a shell asks before it shows one.
MOST_OFFERED = 100
# Ids are numbers given in order: which of the newest begin with what was typed is seen in a page of this length.
LOOKED_THROUGH = 1000
UNFINISHED = frozenset({"queued", "running"})
RETRIABLE = frozenset({"failed", "cancelled"})


def complete_tags(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    for tag in _offer(ctx, "/tags", "tags", "name", incomplete):
        yield tag["name"], f"{tag['count']} documents" if tag["count"] != 1 else "1 document"


def complete_documents(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    path = f"/documents?limit={LOOKED_THROUGH if incomplete else MOST_OFFERED}"
    for document in _offer(ctx, path, "documents", "id", incomplete):
        yield str(document["id"]), str(document["title"])


def complete_notes(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    path = f"/documents?doc_type=note&limit={LOOKED_THROUGH if incomplete else MOST_OFFERED}"
    for note in _offer(ctx, path, "documents", "id", incomplete):
        yield str(note["id"]), str(note["title"])


def complete_jobs(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Those that can be cancelled; for `kb retry`, those that can be tried again."""
    wanted = RETRIABLE if ctx.info_name == "retry" else UNFINISHED
    for job in _offer(ctx, f"/jobs?limit={LOOKED_THROUGH}", "jobs", "id", incomplete):
        if job["status"] in wanted:
            yield str(job["id"]), f"{job['status']}: {job['filename'] or job['type']}"


def _offer(ctx: typer.Context, path: str, part: str, name: str, incomplete: str) -> list[dict[str, Any]]:
    """What the engine lists there whose name begins so. Whatever goes wrong: nobody asked for an error."""
    from kb.cli.probing import NoAnswer, ask
    from kb.settings import SettingsError, load_client_settings

    try:
        settings = load_client_settings({"engine_url": ctx.params.get("engine_url")})
        answer = ask(f"{settings.engine_url}/api/v1{path}", settings.api_key.get_secret_value())
        if answer.status != 200:
            return []
        return [one for one in answer.json[part] if str(one[name]).startswith(incomplete)][:MOST_OFFERED]
    except (SettingsError, NoAnswer, LookupError, TypeError):
        return []
