"""What the shell offers when a tag or an id is half typed; nothing when the engine does not answer.

Each takes what is typed so far and returns values, each with a few words on what it is.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import typer

Json: TypeAlias = dict[str, Any]  # Any: whatever answers
Offers: TypeAlias = list[tuple[str, str]]

# Nobody reads a longer list, and a shell asks before it shows one.
MOST_OFFERED = 100
# Ids are numbers given in order: which of the newest begin with what was typed is seen in a page of this length.
LOOKED_THROUGH = 1000
# The jobs with which a command can do something; `kb jobs` shows any.
STATUSES = {"cancel": ("running", "queued"), "retry": ("failed", "cancelled")}


def complete_tags(ctx: typer.Context, incomplete: str) -> Offers:
    def show(tag: Json) -> tuple[str, str]:
        return tag["name"], f"{tag['count']} documents" if tag["count"] != 1 else "1 document"

    return _offer(ctx, incomplete, "tags", show)


def complete_documents(ctx: typer.Context, incomplete: str) -> Offers:
    return _offer(ctx, incomplete, f"documents?{_limit(incomplete)}", _show_document)


def complete_notes(ctx: typer.Context, incomplete: str) -> Offers:
    return _offer(ctx, incomplete, f"documents?doc_type=note&{_limit(incomplete)}", _show_document)


def _show_document(document: Json) -> tuple[str, str]:
    return str(document["id"]), str(document["title"])


def complete_jobs(ctx: typer.Context, incomplete: str) -> Offers:
    def show(job: Json) -> tuple[str, str]:
        return str(job["id"]), f"{job['status']}: {job['filename'] or job['type']}"

    path = f"jobs?{_limit(incomplete)}"
    paths = [f"{path}&status={status}" for status in STATUSES.get(ctx.info_name or "", ())] or [path]
    return [offer for path in paths for offer in _offer(ctx, incomplete, path, show)][:MOST_OFFERED]


def _limit(incomplete: str) -> str:
    return f"limit={LOOKED_THROUGH if incomplete else MOST_OFFERED}"


def _offer(ctx: typer.Context, incomplete: str, path: str, show: Callable[[Json], tuple[str, str]]) -> Offers:
    """What the engine lists, if it begins so. Whatever goes wrong: nobody asked for an error."""
    from kb.cli.probing import NoAnswer, ask_engine
    from kb.settings import SettingsError, load_client_settings, present_key

    try:
        settings = load_client_settings({"engine_url": ctx.params.get("engine_url")})
        answer = ask_engine(settings.engine_url, path, present_key(settings.api_key))
        if answer.status != 200:
            return []
        offers = map(show, answer.json[path.partition("?")[0]])
        return [offer for offer in offers if offer[0].startswith(incomplete)][:MOST_OFFERED]
    except (SettingsError, NoAnswer, LookupError, TypeError, AttributeError):
        return []
