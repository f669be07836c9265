"""What is asked of the systemd of the user, by `systemctl --user`."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kb.cli.service.unit import NAME

# A service that is stopped has 30 seconds to finish what is under way.
ANSWERS_WITHIN_SECONDS = 90
LINES_OF_THE_LOG = 5


class NoSystemd(Exception):
    """There is none here that runs services of a user. The message is what it said itself; perhaps nothing."""


class Refused(Exception):
    """systemd would not do it. The message says why, in its own words."""


@dataclass(frozen=True)
class State:
    """What systemd knows of the unit, in its own words."""

    file: Path | None
    is_enabled: bool
    active: str
    """`active`, `inactive`, `failed`, `activating` ..."""
    sub: str
    """`running`, `dead`, `auto-restart` ..."""
    restarts: int

    @property
    def is_active(self) -> bool:
        return self.active == "active"

    @property
    def is_changing(self) -> bool:
        """It is being started or stopped, or waits to be started again: whether it has its ports is not known."""
        return self.active in ("activating", "deactivating")

    @property
    def has_ended(self) -> bool:
        """By itself. It may be about to be started again."""
        return self.active in ("failed", "inactive") or self.sub == "auto-restart" or self.restarts > 0


def require_systemd() -> None:
    """Raise `NoSystemd` unless the user's own answers."""
    if shutil.which("systemctl") is None:
        raise NoSystemd
    asked = _call("show", "--property=Version")
    if asked.returncode != 0:
        raise NoSystemd(asked.stderr.strip())


def read_state() -> State:
    answer = _require("show", NAME, "--property=FragmentPath,UnitFileState,ActiveState,SubState,NRestarts")
    told = dict(line.partition("=")[::2] for line in answer.splitlines())
    return State(
        file=Path(path) if (path := told.get("FragmentPath", "")) else None,
        is_enabled=told.get("UnitFileState") in ("enabled", "linked"),
        active=told.get("ActiveState", ""),
        sub=told.get("SubState", ""),
        restarts=int(told.get("NRestarts") or 0),
    )


def enable(unit: Path) -> None:
    """By its path: a shell may call another folder the one of configuration than the user's systemd does."""
    _require("daemon-reload")
    _require("enable", "--quiet", str(unit))


def start_anew() -> None:
    """Start it, or end it and start it, and forget how often it failed."""
    _call("reset-failed", NAME)
    _require("restart", NAME)


def stop() -> None:
    _require("stop", NAME)


def stop_and_disable() -> None:
    _require("disable", "--quiet", "--now", NAME)


def forget() -> None:
    """What was known of a unit whose file is gone."""
    _require("daemon-reload")
    _call("reset-failed", NAME)


def last_lines_of_log() -> list[str]:
    """The last thing that the service has said; nothing where no journal is kept."""
    if shutil.which("journalctl") is None:
        return []
    told = _run("journalctl", "--user", f"--unit={NAME}", f"--lines={LINES_OF_THE_LOG}", "--output=cat", "--quiet")
    return told.stdout.splitlines()


def _require(*arguments: str) -> str:
    done = _call(*arguments)
    if done.returncode != 0:
        raise Refused(done.stderr.strip() or f"systemctl ended with {done.returncode}.")
    return done.stdout


def _call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _run("systemctl", "--user", "--no-pager", *arguments)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603  fixed words, and the path of the unit
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=ANSWERS_WITHIN_SECONDS,
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        raise Refused(f"{command[0]} gave no answer: {error}") from error
