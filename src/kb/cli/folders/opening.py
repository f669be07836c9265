"""Opening a file where it was found. A file or a folder that a link has replaced since then is refused."""

import os
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
# Without O_NONBLOCK, opening a pipe that has replaced a file would wait for a writer.
_FILE = os.O_RDONLY | os.O_NONBLOCK


def open_below(folder: Path, path: Path) -> int:
    """Open the file without following links below the folder; returns its descriptor. Raises `OSError`.

    The folder itself may be a link. Each part of the path is opened relative to the part before it, so that another
    user who may write there cannot redirect the path in the meantime.
    """
    *folders, name = path.relative_to(folder).parts
    parent = os.open(folder, _FOLDER)
    try:
        for part in folders:
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
            os.close(parent)
            parent = below
        return os.open(name, _FILE | os.O_NOFOLLOW, dir_fd=parent)
    finally:
        os.close(parent)
