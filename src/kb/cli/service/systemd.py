"""What is asked of the systemd of the user, by `systemctl --user`."""

import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from kb.cli.service.unit import NAME

# A service that is stopped has 45 seconds to finish what is under way.
ANSWERS_WITHIN_SECONDS = 90
LINES_OF_THE_LOG = 5
# Bringing a large base of an older version up to date may take longer; all else is there within seconds.
STARTS_WITHIN_SECONDS = 60.0
LOOK_EVERY_SECONDS = 0.25
# The first that knows what the colon of `ExecStart=:` means.
OLDEST_VERSION = 244
# What it says of a unit that it does not have.
_GONE = re.compile("does not exist|not loaded")


class NoSystemd(Exception):
    """There is none here that runs services of a user. The message is what it said itself; perhaps nothing."""


class TooOld(Exception):
    """It does not know what the unit needs. The message is its version."""


class Refused(Exception):
    """systemd would not do it. The message says why, in its own words."""


class Start(Enum):
    """How far a service has come that was started."""

    DONE = "done"
    UNDER_WAY = "under way"
    """It runs, and has not said yet that its engine and MCP server answer."""
    FAILED = "failed"


@dataclass(frozen=True)
class State:
    """What systemd knows of the unit, in its own words."""

    file: Path | None
    """Which it has read; it may be gone since."""
    is_enabled: bool
    active: str
    """`active`, `inactive`, `failed`, `activating` ..."""
    sub: str
    """`running`, `dead`, `auto-restart` ..."""
    restarts: int
    has_job: bool
    """It is about to be started or stopped, or that has just begun."""

    @property
    def is_active(self) -> bool:
        """Its engine and its MCP server have answered: it has said so."""
        return self.active == "active"

    @property
    def is_running(self) -> bool:
        """Or is about to: whether it has its ports is known of an active one alone."""
        return self.active not in ("", "inactive", "failed")

    @property
    def is_starting(self) -> bool:
        """At this moment; not one that failed and waits to be started again."""
        return self.active == "activating" and self.sub != "auto-restart"

    @property
    def has_ended(self) -> bool:
        """By itself, since it was started anew. It may be about to be started again."""
        has_failed = self.active == "failed" or self.sub == "auto-restart" or self.restarts > 0
        return has_failed or (self.active == "inactive" and not self.has_job)


def require_systemd() -> None:
    """Raise `NoSystemd` unless the user's own answers, and `TooOld`."""
    if shutil.which("systemctl") is None:
        raise NoSystemd
    asked = _call("show", "--property=Version")
    if asked.returncode != 0:
        raise NoSystemd(asked.stderr.strip())
    version = re.search(r"^Version=\D*(\d+)", asked.stdout, flags=re.MULTILINE)
    if version is not None and int(version[1]) < OLDEST_VERSION:
        raise TooOld(version[1])


def read_state() -> State:
    answer = _require("show", NAME, "--property=FragmentPath,UnitFileState,ActiveState,SubState,NRestarts,Job")
    told = dict(line.partition("=")[::2] for line in answer.splitlines())
    return State(
        file=Path(path) if (path := told.get("FragmentPath", "")) else None,
        is_enabled=told.get("UnitFileState") == "enabled",
        active=told.get("ActiveState", ""),
        sub=told.get("SubState", ""),
        restarts=int(told.get("NRestarts") or 0),
        has_job=bool(told.get("Job")),
    )


def enable(unit: Path) -> None:
    """By its path: a shell may call another folder the one of configuration than the user's systemd does."""
    _require("daemon-reload")
    _require("enable", "--quiet", str(unit))


def start_anew() -> None:
    """End it if it runs, forget how often it failed, and have it start. Nobody waits here until it has."""
    stop()
    _call("reset-failed", NAME)
    _require("start", "--no-block", NAME)


def wait_until_it_has_started() -> Start:
    """Not for ever, and no longer once it has ended."""
    give_up_at = time.monotonic() + STARTS_WITHIN_SECONDS
    while time.monotonic() < give_up_at:
        state = read_state()
        if state.is_active:
            return Start.DONE
        if state.has_ended:
            return Start.FAILED
        time.sleep(LOOK_EVERY_SECONDS)
    return Start.UNDER_WAY


def stop() -> None:
    _require_unless_gone("stop", NAME)


def stop_and_disable() -> None:
    """Also one whose file is gone, of which systemd may know nothing any more, or all."""
    _require_unless_gone("disable", "--quiet", NAME)
    stop()


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


def _require_unless_gone(*arguments: str) -> None:
    try:
        _require(*arguments)
    except Refused as refused:
        if not _GONE.search(str(refused)):
            raise


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
