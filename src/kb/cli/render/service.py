"""What is told of kb as a service of the user."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from kb.cli.render.terminal import Json, complain, one_line, open_console
from kb.cli.service.standing import Standing
from kb.cli.service.unit import program_of
from kb.settings import CONFIG_FILE, config_dir, load_client_settings
from kb.version import VERSION

if TYPE_CHECKING:
    from kb.cli.service.addresses import Addresses
    from kb.settings import EngineSettings
    from kb.settings.unattended import LeftBehind

STARTING = "Starting, and waiting for the engine to answer ..."
NO_FIXED_PORT = "A service needs ports that stay the same, and 0 stands for any. Set `port` and `mcp_port` in kb.toml."
_PAGE = "docs/how-to/run-as-a-service.md"
_INSTEAD = f"To run kb now: kb up. Other ways to have it run by itself: {_PAGE}."
_WIDEST = 9


def no_systemd(answer: str) -> str:
    if sys.platform != "linux":
        return f"`kb service` needs systemd, and so Linux. {_INSTEAD}"
    if not answer:
        return f"There is no systemd here: no program systemctl, as in a container. {_INSTEAD}"
    return (
        f"The systemd of this user does not answer: {one_line(answer)}\n"
        "Each user has one after logging in, but not by su or sudo, and not in a container. Log in as the user "
        f"who is to run kb. {_INSTEAD}"
    )


def systemd_refused(answer: str) -> str:
    return f"systemd refused: {answer}\n`systemctl --user status kb` and `journalctl --user -u kb` may tell more."


def written_by_somebody_else(file: Path) -> str:
    return (
        f"{file} is a unit that `kb service install` has not written; it was left alone. "
        f"Rename or remove it (systemctl --user disable --now kb; then mv {shlex.quote(str(file))} ...), and try again."
    )


def already_running(url: str) -> str:
    return (
        f"kb is running at {url} already, and not as this service. Stop it (Ctrl-C where it was started, or `docker "
        f"compose stop`) and try again; or choose another `port` and `mcp_port` in {config_dir() / CONFIG_FILE}."
    )


def cannot_be_changed(error: OSError) -> str:
    return f"{error.filename} cannot be read or written: {error.strerror}."


def still_starting(log: Sequence[str]) -> str:
    return (
        f"The service is installed and is still starting: it runs, but does not answer yet.{_quote_log(log)}"
        "A large base of an older version is first brought up to date. Follow its log: journalctl --user -u kb -f. "
        "See whether it answers: kb service status"
    )


def did_not_start(log: Sequence[str]) -> str:
    return (
        f"The service is installed, but it does not answer.{_quote_log(log)}"
        "See its log: journalctl --user -u kb. Start it again: systemctl --user restart kb. "
        "Remove it: kb service uninstall"
    )


def _quote_log(log: Sequence[str]) -> str:
    said = "".join(f"\n  {one_line(line)}" for line in log)
    return f" The last it said:{said}\n" if log else " "


def not_installed(file: Path) -> str:
    return f"There is no service: {file} does not exist. `kb service install` makes it."


def show_left_behind(left: "Sequence[LeftBehind]") -> None:
    """No value of a secret is in it."""
    if not left:
        return
    names = ", ".join(one.variable for one in left)
    lines = [f"  {one.line}" for one in left]
    complain(f"The service will not see what this shell has set: {names}.")
    complain(f"What it shall know belongs into {config_dir() / CONFIG_FILE}:\n\n" + "\n".join(lines) + "\n")
    secrets = [one for one in left if one.file_to_write is not None]
    if secrets:
        complain("Each secret goes into a file of its own, which only you can read:\n")
        complain("".join(f"  {_write_secret(one)}\n" for one in secrets))
    complain("After that: systemctl --user restart kb\n")


def _write_secret(left: "LeftBehind") -> str:
    file = shlex.quote(str(left.file_to_write))
    return f'(umask 077; mkdir -p "$(dirname {file})"; printf "%s\\n" "${left.variable}" > {file})'


def show_written(file: Path, old: str | None, new: str) -> None:
    console = open_console()
    if old == new:
        console.print(f"{file} is as it should be.")
    elif old is None:
        console.print(f"Wrote {file}, which starts {_render_program(new)}")
    elif program_of(old) == program_of(new):
        console.print(f"Brought {file} up to date; it starts the same program.")
    else:
        console.print(f"Replaced {file}, which started {_render_program(old)}\nIt starts {_render_program(new)} now.")


def _render_program(unit: str) -> str:
    return shlex.join(program_of(unit))


def show_not_started() -> None:
    open_console().print("It starts at your next login. Now: systemctl --user start kb")


def show_service(addresses: "Addresses", settings: "EngineSettings") -> None:
    """All that somebody needs who has just installed it."""
    config = config_dir() / CONFIG_FILE
    mcp = [f"  MCP server  {addresses.mcp}/mcp"] if addresses.mcp else []
    lines = [
        f"kb {VERSION} is running as a service of yours, and starts when you log in.",
        "",
        f"  Web page    {addresses.engine}/",
        f"  Engine API  {addresses.engine}/api/v1",
        *mcp,
        f"  Data        {settings.data_dir}",
        f"  Settings    {config}" + ("" if config.exists() else " (not there yet)"),
        "",
        "  See its log                   journalctl --user -u kb -f",
        "  After a change of settings    systemctl --user restart kb",
        "  Run it when nobody logs in    loginctl enable-linger",
        "  Stop it until the next login  systemctl --user stop kb",
        "  Remove it                     kb service uninstall",
    ]
    open_console().print("\n".join(lines))
    if load_client_settings().engine_url != addresses.engine:
        complain(f'\nFor the other commands to find it, write into {config}: engine_url = "{addresses.engine}"')


def show_removed(file: Path) -> None:
    open_console().print(f"Stopped the service and removed {file}.")


def show_what_stays(settings: "EngineSettings") -> None:
    open_console().print(f"Documents and notes stay in {settings.data_dir}; `kb up` goes on with them.")


def describe(standing: Standing) -> Json:
    return {
        "unit": str(standing.file),
        "installed": standing.is_installed,
        "enabled": standing.is_installed and standing.state.is_enabled,
        "active": standing.state.active,
        "program": program_of(standing.unit or ""),
        "engine": {
            "url": standing.addresses.engine,
            "answers": standing.version is not None,
            "version": standing.version,
        },
    }


def show_standing(standing: Standing) -> None:
    console = open_console()
    for name, fact in _facts_of(standing).items():
        console.print(Text.assemble((f"{name:<{_WIDEST + 2}}", "dim"), one_line(fact)))
    for sentence in _advise(standing):
        complain(sentence)


def _facts_of(standing: Standing) -> dict[str, str]:
    state, version = standing.state, standing.version
    engine = standing.addresses.engine
    answer = f"{engine}/ answers, version {version}" if version else f"nobody answers at {engine}"
    if standing.unit is None:
        return {"installed": "no", "engine": answer}
    return {
        "installed": f"yes, {standing.file}",
        "starts": _render_program(standing.unit),
        "enabled": "yes, it starts when you log in" if state.is_enabled else "no",
        "active": f"{state.active} ({state.sub})",
        "engine": answer,
    }


def _advise(standing: Standing) -> list[str]:
    if not standing.is_installed:
        return ["`kb service install` makes kb a service."]
    if standing.missing_program:
        return [f"{standing.missing_program} is gone. Where kb is installed now: kb service install"]
    if not standing.state.is_active and standing.version:
        return ["Not the service has started the engine that answers. Stop that; then: systemctl --user restart kb"]
    if standing.state.is_active and not standing.is_well:
        return [
            "It may still be starting: a large base of an older version is first brought up to date. "
            "Follow its log: journalctl --user -u kb -f. If that does not go on: systemctl --user restart kb"
        ]
    if not standing.is_well:
        return ["Its log: journalctl --user -u kb. To start it: systemctl --user restart kb"]
    if standing.version != VERSION:
        return [f"This is kb {VERSION}. To run it as the service: kb service install"]
    return []
