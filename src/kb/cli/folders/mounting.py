"""Which folders are disks, or other folders, that were mounted there."""

import os
import re
from collections.abc import Set as AbstractSet

from kb.cli.folders.scanning import path_as_text

LINUX_LIST = "/proc/self/mountinfo"
_PLACE = 4
_ESCAPED = re.compile(rb"\\([0-7]{3})")


def find_mounted(folders: AbstractSet[str]) -> set[str]:
    """Those of the folders on which something is mounted."""
    try:
        with open(LINUX_LIST, "rb") as listing:
            # A folder that is mounted a second time lies on the same disk as its parent: only here it shows.
            places = {_unescape(line.split(b" ")[_PLACE]) for line in listing}
    except OSError:
        return {folder for folder in folders if os.path.ismount(folder)}
    return places & folders


def _unescape(field: bytes) -> str:
    return path_as_text(_ESCAPED.sub(lambda escaped: bytes([int(escaped[1], 8)]), field))
