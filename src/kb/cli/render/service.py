"""What is told of kb as a service of the user."""

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from kb.cli.render.terminal import Json, complain, one_line, open_console
from kb.cli.service.addresses import Addresses, is_same_place
from kb.cli.service.standing import Standing
from kb.cli.service.systemd import OLDEST_VERSION
from kb.cli.service.unit import program_of
from kb.settings import CONFIG_FILE, config_dir
from kb.settings.unattended import FOLDER_VARIABLES
from kb.version import VERSION

if TYPE_CHECKING:
    from kb.settings import EngineSettings, McpSettings
    from kb.settings.unattended import LeftBehind

STARTING = "Starting, and waiting for engine and MCP server to answer ..."
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


def systemd_too_old(version: str) -> str:
    return f"systemd is {version} here, and `kb service` needs {OLDEST_VERSION} or newer. {_INSTEAD}"


def systemd_refused(answer: str) -> str:
    return f"systemd refused: {answer}\n`systemctl --user status kb` and `journalctl --user -u kb` may tell more."


def written_by_somebody_else(file: Path) -> str:
    return (
        f"{file} is a unit that `kb service install` has not written; it was left alone. "
        f"Rename or remove it (systemctl --user disable --now kb; then mv {shlex.quote(str(file))} ...), and try again."
    )


def masked(file: Path) -> str:
    return f"{file} is masked: systemd starts no unit of this name. If you mean it to: systemctl --user unmask kb"


def other_folders(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    return (
        f"The service was installed with {_render_folders(old)}, and this shell has {_render_folders(new)}: it would "
        "have other documents, settings or models. Set them as they were and try again; or, if you mean it, run "
        "`kb service uninstall` first, which deletes no document."
    )


def _render_folders(folders: Mapping[str, str]) -> str:
    given = " ".join(f"{name}={shlex.quote(_legible(value))}" for name, value in folders.items())
    return given or f"none of {', '.join(FOLDER_VARIABLES)}"


def already_running(url: str) -> str:
    return (
        f"kb is running at {url} already, and not as this service. Stop it (Ctrl-C where it was started, or `docker "
        f"compose stop`) and try again; or choose another `port` and `mcp_port` in {_config_file()}."
    )


def in_the_file(sentence: str) -> str:
    """What is said of variables, for somebody who is to set the same in `kb.toml`."""
    told = re.sub(r"\bKB_([A-Z0-9_]+)(?:=(\w+))?", _name_in_the_file, sentence)
    return sentence if told == sentence else f"{told} A service sees no variable: all this stands in {_config_file()}."


def _name_in_the_file(found: re.Match[str]) -> str:
    name, value = found[1].lower(), found[2]
    return f"`{name} = {value}`" if value else f"`{name}`"


def not_utf8(folders: Sequence[str]) -> str:
    (wrong, *_) = [folder for folder in folders if _is_not_utf8(folder)]
    return f"systemd reads UTF-8, which the name of {_legible(wrong)} is not. Rename it, or choose another folder."


def _is_not_utf8(folder: str) -> bool:
    return _legible(folder) != folder


def _legible(path: Path | str) -> str:
    """As it is, but for what is no character: that cannot be written to a terminal."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _config_file() -> str:
    return _legible(config_dir() / CONFIG_FILE)


def cannot_be_changed(error: OSError) -> str:
    # It tells no name where what was written did not go in, as on a full disk.
    file = _legible(error.filename) if error.filename else "The unit"
    return f"{file} cannot be read or written: {error.strerror}."


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
    complain(f"What it shall know belongs into {_config_file()}:\n\n" + "\n".join(lines) + "\n")
    replaced = ", ".join(f"`{one.instead_of}`" for one in left if one.instead_of)
    if replaced:
        complain(f"The lines that are there by now for {replaced} have to go.\n")
    secrets = [one for one in left if one.file_to_write is not None]
    if secrets:
        complain("Each secret goes into a file of its own, which only you can read:\n")
        complain("".join(f"  {_write_secret(one)}\n" for one in secrets))
    vital = " ".join(one.variable for one in left if one.is_vital)
    if vital:
        complain(
            "Nothing was installed: without these the service would answer to others, or have other documents. Write "
            f"them down there (or unset {vital}), then run `kb service install` again."
        )
    else:
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


def show_not_started(*, is_active: bool) -> None:
    if is_active:
        print("It runs on as it was. To have it take this up: systemctl --user restart kb")
    else:
        print("It starts at your next login. Now: systemctl --user start kb")


def show_service(engine: "EngineSettings", mcp: "McpSettings | None", engine_url: str) -> None:
    """All that somebody needs who has just installed it. At `engine_url` the other commands look for the engine."""
    addresses = Addresses.of(engine, mcp)
    is_there = (config_dir() / CONFIG_FILE).exists()
    agents = [f"  MCP server  {addresses.mcp}/mcp"] if addresses.mcp else []
    lines = [
        f"kb {VERSION} is running as a service of yours, and starts when you log in.",
        "",
        f"  Web page    {addresses.engine}/",
        f"  Engine API  {addresses.engine}/api/v1",
        *agents,
        f"  Data        {_legible(engine.data_dir)}",
        f"  Settings    {_config_file()}" + ("" if is_there else " (not there yet)"),
        "",
        "  See its log                   journalctl --user -u kb -f",
        "  After a change of settings    systemctl --user restart kb",
        "  Run it when nobody logs in    loginctl enable-linger",
        "  Stop it until the next login  systemctl --user stop kb",
        "  Remove it                     kb service uninstall",
    ]
    open_console().print("\n".join(lines))
    if not is_same_place(engine_url, addresses.engine):
        complain(
            f"\nThe other commands look for the engine at {engine_url}. For them to find this one, {_config_file()} "
            f'needs the line engine_url = "{addresses.engine}", and KB_ENGINE_URL must not say otherwise.'
        )


def show_removed(file: Path) -> None:
    open_console().print(f"Stopped the service and removed {_legible(file)}.")


def show_what_stays(settings: "EngineSettings") -> None:
    open_console().print(f"Documents and notes stay in {_legible(settings.data_dir)}; `kb up` goes on with them.")


def describe(standing: Standing) -> Json:
    return {
        "unit": _legible(standing.file),
        "installed": standing.is_installed,
        "enabled": standing.is_installed and standing.state.is_enabled,
        "active": standing.state.active,
        "program": program_of(standing.unit or ""),
        "engine": {
            "url": standing.addresses.engine if standing.addresses else None,
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
    state = standing.state
    facts = {"installed": "no"}
    if standing.unit is not None:
        facts = {
            "installed": f"yes, {_legible(standing.file)}",
            "starts": _render_program(standing.unit),
            "enabled": "yes, it starts when you log in" if state.is_enabled else "no",
        }
    if standing.unit is not None or state.is_running:
        facts["active"] = f"{state.active} ({state.sub})"
    return {**facts, "engine": _answer_of(standing)}


def _answer_of(standing: Standing) -> str:
    if standing.addresses is None:
        return "where it would be is not known: the settings cannot be used"
    engine, version = standing.addresses.engine, standing.version
    return f"{engine}/ answers, version {version}" if version else f"nobody answers at {engine}"


def _advise(standing: Standing) -> list[str]:
    state = standing.state
    if standing.problem:
        return [standing.problem]
    if not standing.is_installed:
        rest = "Its unit is gone, and systemd knows it still. `kb service uninstall` ends it; "
        return [(rest if state.is_running or state.is_enabled else "") + "`kb service install` makes kb a service."]
    if standing.missing_program:
        return [f"{standing.missing_program} is gone. Where kb is installed now: kb service install"]
    if state.is_active and not standing.version:
        return [
            "It runs, but not where kb.toml says now, or it is too busy to answer. Its log: journalctl --user -u kb"
        ]
    if state.is_starting:
        return [
            "It is still starting: a large base of an older version is first brought up to date. "
            "Follow its log: journalctl --user -u kb -f. If that does not go on: systemctl --user restart kb"
        ]
    if not state.is_active and standing.version:
        return ["Not the service has started the engine that answers. Stop that; then: systemctl --user restart kb"]
    if not state.is_active:
        return ["Its log: journalctl --user -u kb. To start it: systemctl --user restart kb"]
    if standing.version != VERSION:
        return [f"This is kb {VERSION}. To run it as the service: kb service install"]
    return []
