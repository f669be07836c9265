"""How a service is: what was installed, what systemd says of it, and whether its engine answers."""

from dataclasses import dataclass
from pathlib import Path

from kb.cli.service.addresses import Addresses
from kb.cli.service.systemd import State
from kb.cli.service.unit import program_of


@dataclass(frozen=True)
class Standing:
    file: Path
    unit: str | None
    """What stands in the file; None if it is not there."""
    state: State
    addresses: Addresses | None
    """None if the settings say none that can be used."""
    problem: str
    """Why not."""
    version: str | None
    """Of the engine that answers, whoever started it."""

    @property
    def is_installed(self) -> bool:
        return self.unit is not None

    @property
    def is_well(self) -> bool:
        return self.is_installed and self.state.is_active and self.version is not None

    @property
    def is_awaited(self) -> bool:
        """Nobody answers, or it is still starting."""
        return not self.problem and (self.version is None or self.state.is_starting)

    @property
    def missing_program(self) -> str | None:
        """What it would start, if that is gone: an environment that was deleted or moved."""
        program = program_of(self.unit or "")
        return program[0] if program and not Path(program[0]).exists() else None
