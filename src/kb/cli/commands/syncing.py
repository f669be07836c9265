"""The command that follows a folder: `sync`."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import EngineUrl, Tag, Tags, Yes, join_tags

if TYPE_CHECKING:
    from kb.cli.syncing.following import SyncOptions


def sync(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to follow.")],
    *,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep following until Ctrl-C.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Show what would be done, and do nothing.")] = False,
    yes: Yes = False,
    tags: Tags = None,
    tag: Tag = None,
    retry: Annotated[bool, typer.Option("--retry", help="Send files again that could not be read before.")] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Go on although the folder has no file to send, or a disk is gone.")
    ] = False,
    delete_ignored: Annotated[
        bool, typer.Option("--delete-ignored", help="Delete the documents of files that are ignored now, too.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List each file that is skipped, and why.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each thing done.")] = False,
    engine_url: EngineUrl = None,
) -> None:
    """Make the base follow a folder: what is new, changed, renamed and deleted.

    $ kb sync ~/Documents --dry-run
    $ kb sync ~/Documents --tag papers
    $ kb sync ~/Documents --watch --yes

    The folder is the truth. Its new files are added and its changed ones replaced; a file that was renamed or moved
    within it keeps its document with number and tags; documents whose file is gone are deleted, after a question
    unless --yes is given. What has not changed is not even read. Tags are given to what is added or replaced; all
    other documents keep those they have.

    Hidden and empty files and links are skipped, and what .gitignore or .kbignore leave out: both may be in any
    folder and are written alike; what .kbignore says counts more, so that `!*.pdf` in it takes back what git ignores.
    The document of a file that is there but skipped is kept; that of an ignored one is deleted with --delete-ignored.

    Let no two machines follow folders of the same path into one base: each would delete what only the other has.

    With --json each line is an object with "action" (add, replace, rename, delete, skip or keep), "path" and
    "document_id", and where there is one "from", "reason" or "error". Those of --dry-run have "planned": true.
    """
    from kb.cli.syncing.following import SyncOptions

    _require_folder(folder)
    _require_consent_to_watch(watch=watch, yes=yes)
    url = _find_engine_url(engine_url)
    options = SyncOptions(
        engine_url=url,
        tags=join_tags(tags, tag),
        yes=yes,
        dry_run=dry_run,
        allow_empty=allow_empty,
        delete_ignored=delete_ignored,
        retry=retry,
        verbose=verbose,
        as_json=as_json,
    )
    _follow(Path(os.path.realpath(folder)), url, options, watch=watch and not dry_run)


def _follow(folder: Path, engine_url: str, options: "SyncOptions", *, watch: bool) -> None:
    from kb.cli.folders.scanning import path_as_text
    from kb.cli.render.problems import STOPPED
    from kb.cli.render.syncing import show_planned, show_totals
    from kb.cli.syncing.following import Follower, be_only_one_following
    from kb.cli.syncing.memory import place_of_memory
    from kb.cli.syncing.watching import watch_folder
    from kb.settings import cache_dir

    place = place_of_memory(cache_dir(), path_as_text(folder), engine_url)
    follower = Follower(folder, place, options)
    try:
        with nullcontext() if options.dry_run else be_only_one_following(place, folder):
            if watch:
                watch_folder(follower, engine_url)
            else:
                follower.begin()
    except (KeyboardInterrupt, typer.Abort):
        end_with(STOPPED, Exit.INTERRUPTED)
    finally:
        # Also if it was stopped, or the engine is gone: then it tells how far it came.
        (show_planned if options.dry_run else show_totals)(follower.totals)
    raise typer.Exit(Exit.DONE if watch else follower.totals.exit)


def _require_folder(folder: Path) -> None:
    from kb.cli.render.syncing import no_such_folder, not_a_folder

    if not os.path.exists(folder):
        end_with(no_such_folder(str(folder)), Exit.NOT_FOUND)
    if not os.path.isdir(folder):
        end_with(not_a_folder(str(folder)), Exit.USAGE)


def _require_consent_to_watch(*, watch: bool, yes: bool) -> None:
    from kb.cli.render.syncing import NOBODY_TO_ASK

    if watch and not yes and not sys.stdin.isatty():
        end_with(NOBODY_TO_ASK, Exit.REFUSED)


def _find_engine_url(engine_url: str | None) -> str:
    from kb.settings import SettingsError, load_client_settings

    try:
        return load_client_settings({"engine_url": engine_url}).engine_url
    except SettingsError as error:
        end_with(str(error), Exit.FAILED)
