"""A look at a base without its engine: what `kb doctor` can tell when none runs. Nothing is changed by it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kb.engine.errors import NotFound
from kb.engine.locks import refuse_beside_engine
from kb.engine.model import Damage, DamageKind, DocumentId
from kb.engine.originals import is_whole, path_in
from kb.engine.storage import DATABASE, has_base
from kb.engine.storage.sqlite.copying import read_contents
from kb.engine.storage.sqlite.integrity import check_base


@dataclass(frozen=True)
class BaseOnDisk:
    schema_version: int
    documents: int
    originals: dict[str, list[int]]
    """Each that the base refers to, with its documents."""
    documents_with_unsafe_names: list[int]
    """Documents that refer to an original by a name that is not a SHA-256."""


def read_base(data_dir: Path) -> BaseOnDisk:
    """Raises `NotFound` without a base, `Conflict` if an engine is at work on it, `Unavailable` if it is damaged."""
    if not has_base(data_dir):
        raise NotFound(f"There is no base in {data_dir}.")
    # The check of the full-text index keeps writers out: an engine can do without that.
    refuse_beside_engine(data_dir)
    contents = read_contents(data_dir / DATABASE)
    return BaseOnDisk(
        contents.schema_version, contents.documents, contents.users_of_original, contents.documents_with_unsafe_names
    )


def examine_base(data_dir: Path, base: BaseOnDisk, on_progress: Callable[[int, int], None]) -> list[Damage]:
    """All that is not what it was: SQLite's own check, the rows' checksums, and the originals."""
    damages = check_base(data_dir / DATABASE)
    for document_id in base.documents_with_unsafe_names:
        sentence = f"The original of document {document_id} has a name that is not a SHA-256."
        damages.append(Damage(DamageKind.ORIGINAL, DocumentId(document_id), sentence))
    for done, (name, document_ids) in enumerate(base.originals.items()):
        on_progress(done, len(base.originals))
        if not is_whole(path_in(data_dir / "originals", name), name):
            owner = f"document {', '.join(map(str, document_ids))}" if document_ids else "a job"
            sentence = f"The original of {owner} is missing or damaged: {name}."
            damages.append(Damage(DamageKind.ORIGINAL, None, sentence))
    return damages
