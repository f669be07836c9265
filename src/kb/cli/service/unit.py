"""The unit that systemd is given: `kb up` of this very installation, in few lines."""

import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from kb.settings.unattended import FOLDER_VARIABLES, every_variable

NAME = "kb.service"
FIRST_LINE = "# Written by `kb service install`, which overwrites it. Your changes: systemctl --user edit kb"
# What systemd takes in no program's name; among what a program is given it takes anything.
_FORBIDDEN = re.compile(r"""['"\\\x00-\x1f\x7f]""")
ANY_NAME = ["/usr/bin/env"]

# deploy/systemd/kb.service confines the service of a whole machine further. Of a user's own:
# - Nothing that needs a name space for mounts (PrivateTmp, ProtectSystem, ...). Not every system lets a user make one,
#   and there the service would not start; where it would, a user cannot write to the system anyway, and has the base,
#   the settings and the folders that agents may add from in the home that would be hidden.
# - No IPAddressDeny: a user's systemd cannot enforce it.
# - No MemoryDenyWriteExecute: the drivers of graphics cards may write code as they run.
# - No MemoryMax: how much there is, and who else needs it, is known to the user.
_UNIT = """\
{first_line}
# Settings stand in kb.toml: `kb config` tells where that is. Variables of kb have no effect here, whether they are set
# in a shell, by a login or by `systemctl edit`.

[Unit]
Description=kb, a local knowledge base
# What fails five times in a row needs somebody to look at it. One start may wait ten seconds for a port.
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
# It has started once engine and MCP server answer; a large base of an older version is brought up to date before.
Type=notify
NotifyAccess=main
TimeoutStartSec=infinity
# The colon: nothing in it is a variable.
ExecStart=:{command}
{environment}{unset}Restart=on-failure
# An address that comes late when the machine starts, as that of a VPN, is there before the last attempt.
RestartSec=10
# Where memory runs out, one reader of a file may die; it does not take the rest along.
OOMPolicy=continue
# Longer than engine, worker and MCP server take to finish what is under way, one after another.
TimeoutStopSec=45
# This counts threads too. kb needs fewer, even on a machine with many cores, and the machine can run more.
TasksMax=2048
# That is what `kb up` tells somebody at a terminal; its log goes to the journal.
StandardOutput=null
StandardError=journal

# Nobody else reads what it writes.
UMask=0077
NoNewPrivileges=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
# The processes that read files confine themselves with these calls.
SystemCallFilter=seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
# Not ~@resources: the worker and the readers of files lower their own priority and limits.
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM

[Install]
WantedBy=default.target
"""


def own_program() -> list[str]:
    """What starts this installation, wherever it is.

    The interpreter is named as it was called: what a link in a virtual environment points to knows nothing of that.
    -P: the service starts in the user's home, and a folder `kb` there must not be taken for the package.
    """
    return [str(Path(sys.executable).absolute()), "-P", "-m", "kb.cli.main", "up"]


def render_unit(program: Sequence[str], folders: Mapping[str, str]) -> str:
    """Of the variables of kb it has these alone, which are for everybody to read; others have no effect."""
    given = [quote(f"{name}={value}") for name, value in folders.items()]
    environment = f"Environment={' '.join(given)}\n" if given else ""
    taken_away = textwrap.wrap(" ".join(name for name in every_variable() if name not in folders), 100)
    # The second so that `program_of` can tell what was put in front.
    needs_another = _FORBIDDEN.search(program[0]) or [program[0]] == ANY_NAME
    command = " ".join(map(quote, [*(ANY_NAME if needs_another else []), *program]))
    unset = "".join(f"UnsetEnvironment={names}\n" for names in taken_away)
    return _UNIT.format(first_line=FIRST_LINE, command=command, environment=environment, unset=unset)


def is_ours(unit: str) -> bool:
    return unit.startswith("# Written by `kb service install`")


def program_of(unit: str) -> list[str]:
    """The words of what it starts."""
    words = _words_of(unit, "ExecStart=:")
    return words[1:] if words[:1] == ANY_NAME else words


def folders_of(unit: str) -> dict[str, str]:
    """The variables that say where kb keeps its things, with their values."""
    given = (word.partition("=")[::2] for word in _words_of(unit, "Environment="))
    return {name: value for name, value in given if name in FOLDER_VARIABLES}


def _words_of(unit: str, beginning: str) -> list[str]:
    lines = re.findall(rf"^{beginning}(.*)$", unit, flags=re.MULTILINE)
    return [unquote(word) for line in lines for word in re.findall(r'"(?:[^"\\]|\\.)*"|\S+', line)]


def quote(word: str) -> str:
    """As one word of a line, whatever it holds: `%` begins a placeholder there, and a backslash an escape."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
    return escaped if re.fullmatch(r"[\w@%+=:,./-]+", escaped, flags=re.ASCII) else f'"{escaped}"'


def unquote(word: str) -> str:
    bare = word[1:-1] if word.startswith('"') else word
    plain = {"n": "\n"}
    return re.sub(r"\\(.)", lambda match: plain.get(match[1], match[1]), bare).replace("%%", "%")
