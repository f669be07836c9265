"""A systemd as each user has one after logging in, real and apart from any of the machine.

It sees no process and no control group but its own, and ends with all that it has started. Needs root, and a kernel
that lets it make name spaces.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.engine_program import kb_command

PROGRAM = Path("/lib/systemd/systemd")
IS_INSTALLED = PROGRAM.exists() and shutil.which("systemctl") is not None
STARTS_WITHIN_SECONDS = 20
ENDS_WITHIN_SECONDS = 40
COMMAND_WITHIN_SECONDS = 120

# systemd puts every process of its control group into others: in a name space for processes it sees no stranger, and
# in one for groups none that is not its own. /run/systemd/system says that the machine was started by systemd.
# Of the three words the first is the program, the second a folder and the third the name of its group.
_START = """
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system "$1/groups"
mount -t cgroup2 cgroup2 "$1/groups"
mkdir "$1/groups/$2"
echo $$ > "$1/groups/$2/cgroup.procs"
unshare --cgroup --pid --fork --kill-child --mount --mount-proc sh -euc '
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    echo > "$1/inside"
    exec sh -uc "$0 & wait"
' "$0" "$1" &
child=$!
trap 'kill -KILL $child' TERM
wait $child || true
wait $child || true
echo $$ > "$1/groups/cgroup.procs"
# What was killed leaves its group in a moment.
for attempt in $(seq 50); do
    find "$1/groups/$2" -depth -type d -exec rmdir {} + 2>/dev/null && exit
    sleep 0.1
done
exit 1
"""


class Forbidden(Exception):
    """No name spaces can be made here, or none with a control group. The message is what was said about it."""


class NameSpaces:
    """What is run in them sees neither the processes nor the control groups of the machine."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes], environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self._process = process

    @property
    def log(self) -> str:
        return (self.folder / "systemd.log").read_text()

    def run(self, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._entering(), *command],
            env={**self.environment, **settings},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_WITHIN_SECONDS,
        )

    def _entering(self) -> list[str]:
        return ["nsenter", f"--target={self._inner()}", "--mount", "--pid", "--cgroup"]

    def _inner(self) -> int:
        """The first process in the name spaces; that of `unshare`'s only child."""
        child = self._process.pid
        for _ in range(2):
            child = int(Path(f"/proc/{child}/task/{child}/children").read_text().split()[0])
        return child


class UserSystemd(NameSpaces):
    """`kb` and `systemctl` see it in their environment, and see its name spaces."""

    @property
    def home(self) -> Path:
        return Path(self.environment["HOME"])

    def kb(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return self.run(*kb_command(*arguments), **settings)

    def ask(self, unit: str, name: str) -> str:
        return self.run("systemctl", "--user", "show", unit, f"--property={name}", "--value").stdout.strip()


def why_forbidden() -> str | None:
    """Why there cannot be one here; None if there can. All is tried that starting and ending one takes."""
    if os.geteuid() != 0:
        return "it takes root to start a systemd of one's own"
    with TemporaryDirectory() as folder:
        try:
            with _open_name_spaces(Path(folder), "sleep infinity", os.environ) as process:
                entered = NameSpaces(Path(folder), process, os.environ).run("true")
        except Forbidden as error:
            return f"no systemd of one's own can be started here: {error}"
    return None if entered.returncode == 0 else f"name spaces cannot be entered here: {entered.stderr.strip()}"


@contextmanager
def running_user_systemd(folder: Path) -> Iterator[UserSystemd]:
    runtime, home = folder / "run", folder / "home"
    runtime.mkdir(mode=0o700)
    home.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "XDG_", "DBUS_"))}
    environment = {**inherited, "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime)}
    with _open_name_spaces(folder, f"{PROGRAM} --user --log-target=console", environment) as process:
        systemd = UserSystemd(folder, process, environment)
        _wait_until_it_answers(systemd)
        yield systemd


@contextmanager
def _open_name_spaces(folder: Path, program: str, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """With the program in them. Raises `Forbidden` if they cannot be made, or do not go away in the end."""
    # Killed tests leave nothing behind either.
    start = ["setpriv", "--pdeathsig=TERM", "unshare", "--mount", "--propagation=private", "sh", "-euc", _START]
    group = f"kb-test-{os.getpid()}"
    log = folder / "systemd.log"
    with log.open("wb") as file:
        process = subprocess.Popen([*start, program, str(folder), group], env=environment, stdout=file, stderr=file)
    try:
        _wait_for_inside(folder, process, log)
        yield process
    finally:
        process.terminate()
        code = process.wait(ENDS_WITHIN_SECONDS)
    if code != 0:
        raise Forbidden(f"the control group {group} could not be removed")


def _wait_for_inside(folder: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while not (folder / "inside").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise Forbidden(log.read_text().strip())
        time.sleep(0.01)


def _wait_until_it_answers(systemd: UserSystemd) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    # Degraded is one in which a unit of this machine has failed: that is none of the tests' business.
    while systemd.run("systemctl", "--user", "is-system-running").stdout.strip() not in ("running", "degraded"):
        assert time.monotonic() < deadline, systemd.log
        time.sleep(0.05)
