"""Original files, as they were uploaded, named by the SHA-256 of their content and shared by who has the same.

port        what all of the engine knows of them
folder      in the data directory
bucket      in a bucket of an S3 server, for engines and workers that share no disk
incoming    uploads on their way
disk        files that are whole, and safe on the disk
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.engine.errors import Unavailable
from kb.engine.originals.disk import (
    DamagedOriginal,
    MissingOriginal,
    UnsafeName,
    compute_digest,
    copy_original,
    explain_disk_error,
    is_whole,
    make_folder,
    open_plain,
    sync_folder,
    translated_errors,
)
from kb.engine.originals.folder import FolderOriginals, path_in
from kb.engine.originals.incoming import IncomingFile
from kb.engine.originals.port import Bucket, OpenOriginal, Originals, Watch

__all__ = [
    "Bucket",
    "DamagedOriginal",
    "FolderOriginals",
    "IncomingFile",
    "MissingOriginal",
    "OpenOriginal",
    "Originals",
    "UnsafeName",
    "Watch",
    "compute_digest",
    "copy_original",
    "explain_disk_error",
    "is_whole",
    "make_folder",
    "open_originals",
    "open_plain",
    "path_in",
    "sync_folder",
    "translated_errors",
]


@contextmanager
def open_originals(data_dir: Path, bucket: Bucket | None, *, folder: str = "originals") -> Iterator[Originals]:
    """Those in this folder of `data_dir`, or in the bucket if they are kept in one."""
    if bucket is None:
        yield FolderOriginals(data_dir / folder)
        return
    try:
        # Only for who keeps originals there: it takes time to load, and need not be installed.
        from kb.engine.originals.bucket import open_bucket
    except ModuleNotFoundError as error:
        if error.name != "obstore":
            raise
        raise Unavailable(
            "KB_ORIGINALS_URL names a bucket, and what speaks to one is not installed: pip install 'kb-local[s3]'"
        ) from error
    with open_bucket(bucket, data_dir / "transit") as originals:
        yield originals
