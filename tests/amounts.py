"""How much of the fault programme is run: a selection within `make test`, all of it with `make faults`."""

import os
from collections.abc import Callable
from typing import TypeAlias

IS_FULL = os.environ.get("FAULTS") == "full"
SEED = int(os.environ.get("FAULTS_SEED", "20261116"))

Tell: TypeAlias = Callable[[str], None]


def amount(*, selection: int, full: int) -> int:
    return full if IS_FULL else selection
