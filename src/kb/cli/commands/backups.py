"""Commands on the data directory itself: `backup`, `restore`."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from kb.cli.confirming import require_consent
from kb.cli.ending import end_with, ending_plainly
from kb.cli.exits import Exit
from kb.cli.options import DataDir, Yes

ManifestAsJson = Annotated[bool, typer.Option("--json", help="Print the backup's manifest as JSON, in one line.")]


def backup(
    destination: Annotated[Path, typer.Argument(metavar="DESTINATION", help="A folder that does not exist yet.")],
    *,
    data_dir: DataDir = None,
    allow_damage: Annotated[
        bool, typer.Option("--allow-damage", help="Back up what is left of a damaged base; exit code 1 tells.")
    ] = False,
    as_json: ManifestAsJson = False,
) -> None:
    """Copy everything into a new folder and check the copy.

    $ kb backup /mnt/backups/kb-monday

    The engine may go on running.
    """
    from kb.cli.render.backups import show_backup
    from kb.cli.render.progress import progress_of_steps
    from kb.cli.render.terminal import print_json

    with ending_plainly(), _refusing_plainly():
        from kb.engine.backup import back_up

        began = time.monotonic()
        _keep_from_others()
        with progress_of_steps() as on_progress:
            manifest = back_up(
                _find_data_dir(data_dir),
                destination,
                damage_is_allowed=allow_damage,
                now=datetime.now(UTC),
                on_progress=on_progress,
            )
        if as_json:
            print_json(manifest.to_json())
        else:
            show_backup(destination, manifest.to_json(), time.monotonic() - began)
        if manifest.damage:
            raise typer.Exit(Exit.FAILED)


def restore(
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="The folder that `kb backup` has written.")],
    *,
    data_dir: DataDir = None,
    yes: Yes = False,
    as_json: ManifestAsJson = False,
) -> None:
    """Put a backup in the place of everything that is there.

    $ kb restore /mnt/backups/kb-monday

    Stop the engine before.
    """
    from kb.cli.render.backups import (
        NOBODY_TO_ASK_BEFORE_RESTORING,
        NOTHING_RESTORED,
        question_before_restoring,
        show_restored,
    )
    from kb.cli.render.progress import progress_of_steps
    from kb.cli.render.terminal import print_json

    with ending_plainly(), _refusing_plainly():
        from kb.engine.backup import has_base_file, read_manifest
        from kb.engine.backup import restore as restore_base

        manifest, folder = read_manifest(source), _find_data_dir(data_dir)
        if has_base_file(folder):
            question = question_before_restoring(folder, manifest.to_json())
            require_consent(question, yes=yes, refusal=NOTHING_RESTORED, nobody_to_ask=NOBODY_TO_ASK_BEFORE_RESTORING)
        began = time.monotonic()
        _keep_from_others()
        with progress_of_steps() as on_progress:
            restore_base(source, folder, now=datetime.now(UTC), on_progress=on_progress)
        if as_json:
            print_json(manifest.to_json())
        else:
            show_restored(folder, manifest.to_json(), time.monotonic() - began)


def _keep_from_others() -> None:
    """Let only the user read files that are made from now on, as the engine does."""
    os.umask(0o077)


def _find_data_dir(given: Path | None) -> Path:
    from kb.cli.render.backups import BASE_ELSEWHERE, originals_elsewhere
    from kb.engine.errors import Conflict
    from kb.settings import load_engine_settings

    settings = load_engine_settings({"data_dir": given})
    if settings.store_url.get_secret_value():
        raise Conflict(BASE_ELSEWHERE)
    if settings.originals_url:
        raise Conflict(originals_elsewhere(settings.originals_url))
    return settings.data_dir


@contextmanager
def _refusing_plainly() -> Iterator[None]:
    """These work without an engine that would say so: what is missing is exit code 3, what is refused 4."""
    from kb.cli.render.backups import STOPPED
    from kb.engine.errors import Conflict, NotFound

    try:
        yield
    except (NotFound, Conflict) as error:
        end_with(str(error), Exit.NOT_FOUND if isinstance(error, NotFound) else Exit.REFUSED)
    except KeyboardInterrupt:
        end_with(STOPPED, Exit.INTERRUPTED)
