"""Files that only the user can read."""

import os
import tempfile
from pathlib import Path


def write_privately(file: Path, content: bytes) -> None:
    """Wholly or not at all."""
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with open(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
