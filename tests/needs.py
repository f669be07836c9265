"""What tests need and may lack. Whatever is left out is told; asked for everything, it is a failure."""

import os
import shutil
from pathlib import Path

import pytest
from tests.amounts import IS_FULL

# Debian keeps it where only root looks; make unpacks it into the project's folder, where nothing starts it.
_UNPACKED = Path(__file__).parents[1] / ".nginx/usr/sbin"
NGINX = shutil.which("nginx", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", str(_UNPACKED)]))


def need_installed(program: str, *, is_there: bool) -> None:
    """`make` installs it where it may. Where it may not the tests are skipped, but not in CI."""
    if not is_there:
        assert not os.environ.get("CI"), f"{program} is not installed"
        pytest.skip(f"NOT TESTED: {program} is not installed.")


def need_right(has_it: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """What a container may forbid is left out where it does, and that is said; but not when everything is asked for."""
    if not has_it:
        assert not IS_FULL, otherwise
        pytest.skip(f"NOT TESTED: {otherwise}.")
