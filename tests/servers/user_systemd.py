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

from tests.engine_program import kb_command

PROGRAM = Path("/lib/systemd/systemd")
STARTS_WITHIN_SECONDS = 20
ENDS_WITHIN_SECONDS = 40
COMMAND_WITHIN_SECONDS = 120

# systemd puts every process of its control group into others: in a name space for processes it sees no stranger, and
# in one for groups none that is not its own. /run/systemd/system says that the machine was started by systemd.
_START = """
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system "$1/groups"
mount -t cgroup2 cgroup2 "$1/groups"
mkdir "$1/groups/$2"
echo $$ > "$1/groups/$2/cgroup.procs"
unshare --cgroup --pid --fork --kill-child --mount --mount-proc sh -euc '
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    echo > "$1/inside"
    exec sh -uc "$0 --user --log-target=console & wait"
' "$0" "$1" &
child=$!
trap 'kill -KILL $child' TERM
wait $child || true
wait $child || true
echo $$ > "$1/groups/cgroup.procs"
# What was killed leaves its group in a moment.
for attempt in $(seq 50); do
    find "$1/groups/$2" -depth -type d -exec rmdir {} + 2>/dev/null && break
    sleep 0.1
done
"""


class UserSystemd:
    """`kb` and `systemctl` see it in their environment, and see its name spaces."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes], environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self._process = process

    @property
    def home(self) -> Path:
        return Path(self.environment["HOME"])

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

    def kb(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return self.run(*kb_command(*arguments), **settings)

    def ask(self, unit: str, name: str) -> str:
        return self.run("systemctl", "--user", "show", unit, f"--property={name}", "--value").stdout.strip()

    def _entering(self) -> list[str]:
        return ["nsenter", f"--target={self._inner()}", "--mount", "--pid", "--cgroup"]

    def _inner(self) -> int:
        """The first process in the name spaces; that of `unshare`'s only child."""
        child = self._process.pid
        for _ in range(2):
            child = int(Path(f"/proc/{child}/task/{child}/children").read_text().split()[0])
        return child


def why_not() -> str | None:
    """Why there cannot be one here; None if there can."""
    if not PROGRAM.exists() or shutil.which("systemctl") is None:
        return "systemd is not installed"
    if os.geteuid() != 0:
        return "it takes root to start a systemd of one's own"
    trial = ["unshare", "--mount", "--cgroup", "--pid", "--fork", "sh", "-c", "mount -t tmpfs tmpfs /run"]
    allowed = subprocess.run(trial, capture_output=True, check=False).returncode == 0
    return None if allowed else "this machine lets nobody make name spaces"


@contextmanager
def running_user_systemd(folder: Path) -> Iterator[UserSystemd]:
    runtime, home = folder / "run", folder / "home"
    runtime.mkdir(mode=0o700)
    home.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "XDG_", "DBUS_"))}
    environment = {**inherited, "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime)}
    # Killed tests leave nothing behind either.
    start = [
        "setpriv",
        "--pdeathsig=TERM",
        "unshare",
        "--mount",
        "--propagation=private",
        "sh",
        "-euc",
        _START,
        str(PROGRAM),
        str(folder),
    ]
    with (folder / "systemd.log").open("wb") as log:
        process = subprocess.Popen([*start, f"kb-test-{os.getpid()}"], env=environment, stdout=log, stderr=log)
    systemd = UserSystemd(folder, process, environment)
    try:
        _wait_until_it_answers(systemd, process)
        yield systemd
    finally:
        process.terminate()
        process.wait(ENDS_WITHIN_SECONDS)


def _wait_until_it_answers(systemd: UserSystemd, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while True:
        assert process.poll() is None, systemd.log
        assert time.monotonic() < deadline, systemd.log
        # Only who is inside can be entered, and ask.
        is_inside = (systemd.folder / "inside").exists()
        if is_inside and systemd.run("systemctl", "--user", "is-system-running").stdout.strip() == "running":
            return
        time.sleep(0.05)
