"""Commands on kb as a service of the user: `service install`, `service uninstall`, `service status`."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.exits import Exit
from kb.cli.group import Command

if TYPE_CHECKING:
    from kb.cli.service.addresses import Addresses
    from kb.settings import EngineSettings, McpSettings

app = typer.Typer(help="Have kb run by itself, as a service of yours.", no_args_is_help=True, rich_markup_mode=None)


@app.command(cls=Command)
def install(
    *,
    only_print: Annotated[bool, typer.Option("--print", help="Print the unit, and do nothing.")] = False,
    no_start: Annotated[bool, typer.Option("--no-start", help="Have it start at the next login, not now.")] = False,
) -> None:
    """Have systemd start engine and MCP server when you log in, and again if they fail.

    $ kb service install
    $ kb service install --print

    Writes the unit kb.service among your own, enables it, starts it and waits until the engine answers; root is not
    needed. The service takes its settings from kb.toml and knows no variable of this shell. Installed again, it is
    brought up to date. The exit code is 6 if it runs, but the engine does not answer within a minute.
    """
    from kb.cli.render import service as words
    from kb.cli.service import systemd
    from kb.cli.service.unit import own_program, render_unit
    from kb.settings.unattended import find_left_behind, folders_named

    unit = render_unit(own_program(), folders_named())
    if only_print:
        print(unit, end="")
        return
    with _ending_plainly():
        _require_engine()
        systemd.require_systemd()
        settings = _load_settings()
        file = _unit_file()
        old = _read_own(file)
        _require_no_other(file)
        words.show_left_behind(find_left_behind())
        if no_start:
            _put_in_place(file, old, unit)
            words.show_not_started()
        else:
            _install(file, old, unit, *settings)


def _install(file: Path, old: str | None, unit: str, engine: "EngineSettings", mcp: "McpSettings | None") -> None:
    from kb.cli.render import service as words
    from kb.cli.service import systemd
    from kb.cli.service.addresses import Addresses, require_free_ports, version_of
    from kb.version import VERSION

    addresses = Addresses.of(engine, mcp)
    state = systemd.read_state()
    if state.is_changing:
        # Whoever has the ports after that is somebody else.
        systemd.stop()
    if not state.is_active:
        require_free_ports(addresses, engine, mcp)
    _put_in_place(file, old, unit)
    # A newer kb may have been put in the place of the one that runs.
    if not (state.is_active and old == unit and version_of(addresses) == VERSION):
        _start(addresses)
    words.show_service(addresses, engine)


def _put_in_place(file: Path, old: str | None, unit: str) -> None:
    from kb.cli.render import service as words
    from kb.cli.service import systemd

    if old != unit:
        file.parent.mkdir(parents=True, exist_ok=True)
        # Wholly or not at all: half a unit would be nobody's.
        new = file.with_name(f".{file.name}.new")
        new.write_text(unit, encoding="utf-8")
        new.replace(file)
    systemd.enable(file)
    words.show_written(file, old, unit)


def _start(addresses: "Addresses") -> None:
    from kb.cli.render import service as words
    from kb.cli.render.progress import spinner
    from kb.cli.render.terminal import complain
    from kb.cli.service import systemd
    from kb.cli.service.addresses import Start, wait_until_it_answers

    with spinner(words.STARTING):
        systemd.start_anew()
        start = wait_until_it_answers(addresses)
    if start is Start.UNDER_WAY:
        complain(words.still_starting(systemd.last_lines_of_log()))
        raise typer.Exit(Exit.UNREACHABLE)
    if start is Start.FAILED:
        complain(words.did_not_start(systemd.last_lines_of_log()))
        raise typer.Exit(Exit.FAILED)


@app.command(cls=Command)
def uninstall() -> None:
    """Stop the service and remove it; documents, notes and settings stay.

    $ kb service uninstall
    """
    from kb.cli.render import service as words
    from kb.cli.render.terminal import complain
    from kb.cli.service import systemd

    with _ending_plainly():
        systemd.require_systemd()
        file = _unit_file()
        if _read_own(file) is None:
            complain(words.not_installed(file))
            raise typer.Exit(Exit.NOT_FOUND)
        systemd.stop_and_disable()
        file.unlink()
        systemd.forget()
        words.show_removed(file)
        words.show_what_stays(_load_settings()[0])


@app.command(cls=Command)
def status(*, as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON, in one line.")] = False) -> None:
    """Show whether the service is installed, enabled and running, and whether the engine answers.

    $ kb service status

    The exit code is 0 if it runs and the engine answers, 3 if it is not installed, 6 if no engine answers, and 1 if one
    answers that the service has not started.
    """
    from kb.cli.render import service as words
    from kb.cli.render.terminal import print_json
    from kb.cli.service import systemd
    from kb.cli.service.addresses import Addresses, version_of
    from kb.cli.service.standing import Standing

    with _ending_plainly():
        systemd.require_systemd()
        file = _unit_file()
        addresses = Addresses.of(*_load_settings())
        standing = Standing(file, _read_own(file), systemd.read_state(), addresses, version_of(addresses))
        if as_json:
            print_json(words.describe(standing))
        else:
            words.show_standing(standing)
        if not standing.is_installed:
            raise typer.Exit(Exit.NOT_FOUND)
        if not standing.is_well:
            raise typer.Exit(Exit.UNREACHABLE if standing.version is None else Exit.FAILED)


def _unit_file() -> Path:
    from kb.cli.service.unit import NAME
    from kb.settings import config_home

    return config_home() / "systemd" / "user" / NAME


def _read_own(file: Path) -> str | None:
    """The unit, if it is there. Ends the command if somebody else has written it."""
    from kb.cli.render.service import written_by_somebody_else
    from kb.cli.render.terminal import complain
    from kb.cli.service.unit import is_ours

    try:
        unit = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        if not file.is_symlink():
            return None
        unit = ""
    if not is_ours(unit):
        complain(written_by_somebody_else(file))
        raise typer.Exit(Exit.REFUSED)
    return unit


def _require_no_other(file: Path) -> None:
    """A unit of this name may also come from a package, or from an administrator."""
    from kb.cli.service.systemd import read_state

    known = read_state().file
    if known is not None and known.resolve() != file.resolve():
        _read_own(known)


def _load_settings() -> "tuple[EngineSettings, McpSettings | None]":
    """None for the MCP server where that is not installed: `kb up` starts the engine alone."""
    from kb.cli.render.service import NO_FIXED_PORT
    from kb.settings import SettingsError
    from kb.settings.unattended import load_unattended_settings

    engine, mcp = load_unattended_settings()
    engine.refuse_public_without_key()
    has_mcp = find_spec("mcp") is not None
    if has_mcp:
        mcp.refuse_public_without_key()
    if engine.port == 0 or (has_mcp and mcp.mcp_port == 0):
        raise SettingsError(NO_FIXED_PORT)
    return engine, mcp if has_mcp else None


def _require_engine() -> None:
    from kb.cli.render.programs import not_installed
    from kb.cli.render.terminal import complain

    if find_spec("fastapi") is None:
        complain(not_installed("engine"))
        raise typer.Exit(Exit.FAILED)


@contextmanager
def _ending_plainly() -> Iterator[None]:
    from kb.cli.ending import ending_plainly
    from kb.cli.render import service as words
    from kb.cli.render.terminal import complain
    from kb.cli.service.addresses import AlreadyRunning
    from kb.cli.service.systemd import NoSystemd, Refused

    try:
        with ending_plainly():
            yield
    except NoSystemd as error:
        complain(words.no_systemd(str(error)))
        raise typer.Exit(Exit.REFUSED) from None
    except AlreadyRunning as error:
        complain(words.already_running(error.url))
        raise typer.Exit(Exit.REFUSED) from None
    except Refused as error:
        complain(words.systemd_refused(str(error)))
        raise typer.Exit(Exit.FAILED) from None
    except OSError as error:
        complain(words.cannot_be_changed(error))
        raise typer.Exit(Exit.FAILED) from None
