"""Backups: a whole base in a folder of its own, and the way back.

    kb.sqlite               the base as it was at one moment; a file that opens on its own
    originals/ab/abc...     every original that it refers to
    manifest.json           what is in it

A backup is written beside its place, as NAME.partial, and takes its place at the very end, when all of it is on
disk and has been read back: whatever was interrupted is not called a backup. Originals never change, so only their
removal could come between the copy of the database and theirs; `FolderOriginals.pinned` keeps it out.

A restore first brings everything to the data directory under names that nothing uses, and then one rename puts the
new database in the old one's place: killed at any moment, there is the old base or the new one. Its proof is the
manifest's SHA-256: the bytes are those that were checked when the backup was made, and a later kb whose checks
are stricter does not refuse them.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Final, TypeAlias

from pydantic import Field, TypeAdapter

from kb.engine.errors import Conflict, NotFound, Unavailable
from kb.engine.locks import be_alone, be_only_backup, be_only_one_writing_to
from kb.engine.originals import (
    DamagedOriginal,
    FolderOriginals,
    compute_digest,
    copy_original,
    explain_disk_error,
    is_whole,
    make_folder,
    open_plain,
    path_in,
    sync_folder,
)
from kb.engine.storage import DATABASE, remove_files_of_vectors
from kb.engine.storage.sqlite.copying import Contents, copy_base, fold_log, forget_unsafe_names, read_contents
from kb.engine.storage.sqlite.database import LOGS
from kb.engine.storage.sqlite.integrity import check_base
from kb.version import VERSION

FORMAT: Final = 1
RESTORING: Final = f"{DATABASE}.restoring"
MANIFEST: Final = "manifest.json"
WHAT_A_BACKUP_WRITES: Final = {DATABASE, *(DATABASE + ending for ending in LOGS), "originals", MANIFEST}
# Enough to see what it is about; the manifest has them all.
TOLD_AT_MOST: Final = 10

# A message with this number must fit on a line.
Count: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
NOTHING_ELSE: Final = {"extra": "forbid"}
OnProgress: TypeAlias = Callable[[str, int, int], None]
"""Takes what is being done, how much of it is done, and of how much."""


@dataclass(frozen=True)
class DamageEntry:
    """Something that was damaged in the base already. A damaged original is not in the backup."""

    __pydantic_config__: ClassVar = NOTHING_ELSE

    message: str
    document_ids: list[int]
    original: str | None = None


@dataclass(frozen=True)
class Manifest:
    __pydantic_config__: ClassVar = NOTHING_ELSE

    kb_version: str
    schema_version: int
    created_at: str
    documents: Count
    database_bytes: Count
    database_sha256: str
    originals: Count
    originals_bytes: Count
    damage: list[DamageEntry]

    def to_json(self) -> dict[str, object]:
        return {"format": FORMAT, **asdict(self)}


_MANIFEST: Final = TypeAdapter(Manifest)


@contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename or "The disk"
        raise explain_disk_error(error, otherwise=f"{place} cannot be read or written: {error.strerror}.") from error


def back_up(
    data_dir: Path, destination: Path, *, damage_is_allowed: bool, now: datetime, on_progress: OnProgress
) -> Manifest:
    """Write a backup of the base in `data_dir`, where engine and workers may go on meanwhile.

    Raises `NotFound` without a base, `Conflict` if there is something at `destination` or in the way of the
    partial backup, `Unavailable` for damage that is not allowed; and then, as for any other failure, leaves
    nothing behind.
    """
    if not has_base_file(data_dir):
        raise NotFound(f"There is no base in {data_dir}. Choose another --data-dir or KB_DATA_DIR.")
    destination = destination.resolve()
    if not destination.name:
        raise Conflict(f"{destination} cannot be a backup. Name a folder that does not exist yet.")
    with translated_errors(), be_only_backup(data_dir), _open_partial(destination) as partial:
        manifest = _write(data_dir, partial, now, on_progress)
        if not damage_is_allowed:
            _refuse_damage(manifest.damage)
        partial.rename(destination)
        sync_folder(destination.parent)
    return manifest


@contextmanager
def _open_partial(destination: Path) -> Iterator[Path]:
    """An empty folder beside the destination that only this backup writes to; if the block raises, it is removed."""
    partial = destination.with_name(f"{destination.name}.partial")
    _refuse_to_overwrite(destination)
    if partial.is_symlink() or (partial.exists() and not partial.is_dir()):
        raise _in_the_way(partial)
    # Everything is in it, whoever may read the folders around it.
    make_folder(partial, mode=0o700)
    with be_only_one_writing_to(partial):
        if {part.name for part in partial.iterdir()} - WHAT_A_BACKUP_WRITES:
            raise _in_the_way(partial)
        try:
            # Another one may have been finished since.
            _refuse_to_overwrite(destination)
            _make_empty(partial)
            yield partial
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def _refuse_to_overwrite(destination: Path) -> None:
    if destination.is_file() or (destination.is_dir() and any(destination.iterdir())):
        raise Conflict(f"There is something at {destination} already. Name a folder that does not exist yet.")


def _in_the_way(partial: Path) -> Conflict:
    return Conflict(f"{partial} is in the way, and no backup has written it. Move it, or name another destination.")


def _make_empty(partial: Path) -> None:
    """Of what a backup that was killed has left."""
    partial.chmod(0o700)
    for part in partial.iterdir():
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part)
        else:
            part.unlink()


def _write(data_dir: Path, folder: Path, now: datetime, on_progress: OnProgress) -> Manifest:
    base, database = data_dir / DATABASE, folder / DATABASE
    originals = FolderOriginals(data_dir / "originals")
    # Read when it is first needed, which is under the lock that a new original needs too.
    contents_now = cache(lambda: read_contents(base))
    with originals.pinned(lambda name: contents_now().needs(name)):
        copy_base(base, database, lambda done, total: on_progress("Copying the database", done, total))
        contents = read_contents(database)
        sizes, damage = _copy_originals(originals, folder / "originals", contents, on_progress)
    on_progress("Checking the database", 0, 1)
    damage += _check_database(database)
    damage += _leave_out_unsafe_names(database, contents)
    _check_originals(folder / "originals", list(sizes), on_progress)
    manifest = Manifest(
        kb_version=VERSION,
        schema_version=contents.schema_version,
        created_at=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        documents=contents.documents,
        database_bytes=database.stat().st_size,
        database_sha256=compute_digest(database),
        originals=len(sizes),
        originals_bytes=sum(sizes.values()),
        damage=damage,
    )
    with (folder / MANIFEST).open("x", encoding="utf-8") as file:
        file.write(json.dumps(manifest.to_json(), indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    for part in (*(folder / "originals").iterdir(), folder / "originals", folder):
        sync_folder(part)
    return manifest


def _copy_originals(
    originals: FolderOriginals, folder: Path, contents: Contents, on_progress: OnProgress
) -> tuple[dict[str, int], list[DamageEntry]]:
    """Returns the size of each that was copied, and those that could not be because they are damaged."""
    sizes: dict[str, int] = {}
    damage: list[DamageEntry] = []
    folder.mkdir()
    for done, (name, document_ids) in enumerate(contents.users_of_original.items()):
        on_progress("Copying originals", done, len(contents.users_of_original))
        place = path_in(folder, name)
        place.parent.mkdir(exist_ok=True)
        try:
            sizes[name] = copy_original(originals.path_of(name), place, name)
        except DamagedOriginal:
            of_what = f"of document {', '.join(map(str, document_ids))}" if document_ids else "of a job"
            damage.append(DamageEntry(f"The original {of_what} is missing or damaged.", document_ids, name))
    return sizes, damage


def _leave_out_unsafe_names(database: Path, contents: Contents) -> list[DamageEntry]:
    """Remove the unsafe names of originals from the copy: a restore would refuse it otherwise."""
    why = "names its original by something that is not a SHA-256."
    damage = [DamageEntry(f"Document {one} {why}", [one]) for one in contents.documents_with_unsafe_names]
    damage += [DamageEntry(f"Job {one} {why}", []) for one in contents.jobs_with_unsafe_names]
    if damage:
        forget_unsafe_names(database, contents)
    return damage


def _check_database(database: Path) -> list[DamageEntry]:
    return [
        DamageEntry(damage.message, [] if damage.document_id is None else [damage.document_id])
        for damage in check_base(database)
    ]


def _check_originals(folder: Path, names: list[str], on_progress: OnProgress) -> None:
    for done, name in enumerate(names):
        on_progress("Checking originals", done, len(names))
        if not is_whole(path_in(folder, name), name):
            raise Unavailable(f"{folder} does not give back what was written to it. Check that disk.")


def _refuse_damage(damage: list[DamageEntry]) -> None:
    if not damage:
        return
    told = " ".join(one.message for one in damage[:TOLD_AT_MOST])
    more = f" And {len(damage) - TOLD_AT_MOST} more." if len(damage) > TOLD_AT_MOST else ""
    raise Unavailable(
        f"The base is damaged, so no backup was made. {told}{more} Put it right, or restore an older backup; "
        "--allow-damage makes a backup of what is left."
    )


def read_manifest(backup: Path) -> Manifest:
    """Raises `NotFound` where there is no complete backup, `Conflict` for one that this kb cannot read."""
    with translated_errors():
        try:
            with open_plain(backup / MANIFEST) as file:
                content = file.read()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFound(f"There is no complete backup in {backup}.") from error
    try:
        fields = json.loads(content)
        if fields.pop("format") != FORMAT:
            raise Conflict(f"The backup in {backup} was made by a newer kb. Upgrade this one.")
        manifest = _MANIFEST.validate_python(fields)
        datetime.fromisoformat(manifest.created_at)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Unavailable(f"{backup / MANIFEST} is damaged. Use another backup.") from error
    return manifest


def has_base_file(data_dir: Path) -> bool:
    """Also if it is empty or damaged."""
    with translated_errors():
        return (data_dir / DATABASE).exists()


def restore(backup: Path, data_dir: Path, *, now: datetime, on_progress: OnProgress) -> Manifest:
    """Put the base of a backup in the place of the one in `data_dir`, if there is one.

    Raises `Conflict` if anybody is at work there. Whatever it raises, the old base is as it was.
    """
    manifest = read_manifest(backup)
    with translated_errors():
        make_folder(data_dir)
    with translated_errors(), be_alone(data_dir):
        try:
            on_progress("Copying the database", 0, 1)
            contents = _bring_database(backup, data_dir / RESTORING, manifest)
            left_out = {one.original for one in manifest.damage}
            _bring_originals(backup, data_dir, contents.users_of_original.keys() - left_out, on_progress)
            _make_way(data_dir / DATABASE, now)
            remove_files_of_vectors(data_dir)
            (data_dir / RESTORING).replace(data_dir / DATABASE)
            sync_folder(data_dir)
        finally:
            remove_leftovers(data_dir)
    return manifest


def remove_leftovers(data_dir: Path) -> None:
    """What a restore left that was killed."""
    (data_dir / RESTORING).unlink(missing_ok=True)


def _bring_database(backup: Path, restoring: Path, manifest: Manifest) -> Contents:
    try:
        copy_original(backup / DATABASE, restoring, manifest.database_sha256)
    except DamagedOriginal as error:
        raise Unavailable(f"The database of the backup in {backup} is damaged. Use another backup.") from error
    contents = read_contents(restoring)
    users = [f"document {one}" for one in contents.documents_with_unsafe_names]
    users += [f"job {one}" for one in contents.jobs_with_unsafe_names]
    if users:
        more = f" and {len(users) - TOLD_AT_MOST} more" if len(users) > TOLD_AT_MOST else ""
        raise Unavailable(
            f"The backup in {backup} is not like those that kb makes: {', '.join(users[:TOLD_AT_MOST])}{more} may "
            "refer to files outside of it. Nothing was restored. Restore only backups that you made."
        )
    return contents


def _bring_originals(backup: Path, data_dir: Path, names: set[str], on_progress: OnProgress) -> None:
    """Until the new database refers to them, they are strays that the next start of the engine removes."""
    originals = FolderOriginals(data_dir / "originals")
    for done, name in enumerate(sorted(names)):
        on_progress("Copying originals", done, len(names))
        try:
            originals.bring_back(name, path_in(backup / "originals", name))
        except DamagedOriginal as error:
            raise Unavailable(
                f"The original {name} of the backup in {backup} is damaged. Use another backup."
            ) from error


def _make_way(base: Path, now: datetime) -> None:
    """No log of the old base may stay beside the new one: SQLite would apply it there."""
    if base.exists() and fold_log(base):
        for ending in LOGS:
            # Of a restore that was killed in here, one may be left that says nothing any more.
            base.with_name(base.name + ending).unlink(missing_ok=True)
        return
    for ending in ("", *LOGS):
        part = base.with_name(base.name + ending)
        if part.exists():
            part.rename(base.with_name(f"{base.name}.damaged-{now:%Y%m%d-%H%M%S}{ending}"))
