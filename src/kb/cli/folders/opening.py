"""Opening a file where it was found: what was exchanged for a link meanwhile is refused."""

import os
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
# A pipe that has taken the place of a file has no end.
_FILE = os.O_RDONLY | os.O_NONBLOCK


def open_below(folder: Path, path: Path) -> int:
    """The descriptor of the file, to which no link leads from the folder on. Raises `OSError`.

    The folder itself may be a link. Each part of the path is opened in the one before it, so that another user who may
    write there cannot lead the way elsewhere in between.
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
