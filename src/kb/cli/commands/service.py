"""Commands on kb as a service of the user: `service install`, `service uninstall`, `service status`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.ending import end_with, ending_plainly
from kb.cli.exits import Exit
from kb.cli.group import Command

if TYPE_CHECKING:
    from kb.cli.service.systemd import State
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

    Writes the unit kb.service among your own, enables it, starts it and waits until engine and MCP server answer; root
    is not needed. The service takes its settings from kb.toml and knows no variable of this shell. If one holds a key,
    or says who may call or where the data are, nothing is installed and the exit code is 4. Installed again, the
    service is brought up to date and started anew. The exit code is 6 if it runs, but has not started within a minute.
    """
    from kb.cli.render import service as words
    from kb.cli.service import systemd
    from kb.settings import load_client_settings

    with _ending_plainly():
        unit = _render_unit()
        if only_print:
            print(unit, end="")
            return
        _require_engine()
        systemd.require_systemd()
        _warn()
        engine, mcp = _load_settings()
        engine_url = load_client_settings().engine_url
        _require_model(engine)
        _require_nothing_vital_left_behind()
        state = systemd.read_state()
        file = _place_of(state)
        old = _read_own(file)
        _require_the_same_folders(old)
        if no_start:
            _put_in_place(file, old, unit)
            words.show_not_started(is_active=state.is_active)
            return
        _require_free_ports(state, engine, mcp)
        _put_in_place(file, old, unit)
        _start()
        words.show_service(engine, mcp, engine_url)


def _render_unit() -> str:
    """Ends the command if systemd could not read it: of what is not UTF-8 it would ignore the line."""
    from kb.cli.render.service import not_utf8
    from kb.cli.service.unit import own_program, render_unit
    from kb.settings.unattended import folders_named

    unit = render_unit(own_program(), folders_named())
    try:
        unit.encode("utf-8")
    except UnicodeEncodeError:
        end_with(not_utf8([*own_program()[:1], *folders_named().values()]), Exit.REFUSED)
    return unit


def _warn() -> None:
    from kb.cli.render.terminal import complain
    from kb.settings import find_unknown_names

    for warning in find_unknown_names():
        complain(warning)


def _require_model(engine: "EngineSettings") -> None:
    """As `kb up` does, which would end at once."""
    from kb.cli.render.service import in_the_file
    from kb.engine.models_on_disk import list_models
    from kb.settings import cache_dir, model_folder

    cache = cache_dir()
    (model,) = [one for one in list_models(cache, model_folder(engine.embedding_model, cache)) if one.used]
    if model.problem is not None:
        end_with(in_the_file(model.problem), Exit.FAILED)


def _require_nothing_vital_left_behind() -> None:
    from kb.cli.render.service import show_left_behind
    from kb.settings.unattended import find_left_behind

    left = find_left_behind()
    show_left_behind(left)
    if any(one.is_vital for one in left):
        raise typer.Exit(Exit.REFUSED)


def _require_the_same_folders(old: str | None) -> None:
    """As those that the service has, if there is one already."""
    from kb.cli.render.service import other_folders
    from kb.cli.service.unit import folders_of
    from kb.settings.unattended import folders_named, places

    if old is not None and places(_environment_of(old)) != places(_environment_of(None)):
        end_with(other_folders(folders_of(old), folders_named()), Exit.REFUSED)


def _require_free_ports(state: "State", engine: "EngineSettings", mcp: "McpSettings | None") -> None:
    from kb.cli.render.service import already_running
    from kb.cli.service import systemd
    from kb.cli.service.addresses import AlreadyRunning, require_free_ports
    from kb.listening import CannotStart

    if state.is_running and not state.is_active:
        # Whoever has the ports after that is somebody else.
        systemd.stop()
    try:
        require_free_ports(engine, mcp, service_is_active=state.is_active)
    except (AlreadyRunning, CannotStart) as error:
        end_with(already_running(error.url) if isinstance(error, AlreadyRunning) else str(error), Exit.REFUSED)


def _put_in_place(file: Path, old: str | None, unit: str) -> None:
    from kb.cli.private_files import write_privately
    from kb.cli.render import service as words
    from kb.cli.service import systemd

    if old != unit:
        if old is None:
            # A link to what is gone.
            file.unlink(missing_ok=True)
        # Where it is a link, as among the units of a user to one elsewhere, that is what is changed.
        target = file.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        write_privately(target, unit.encode("utf-8"))
    systemd.enable(file)
    words.show_written(file, old, unit)


def _start() -> None:
    from kb.cli.render import service as words
    from kb.cli.render.progress import spinner
    from kb.cli.service import systemd

    with spinner(words.STARTING):
        systemd.start_anew()
        start = systemd.wait_until_it_has_started()
    if start is systemd.Start.UNDER_WAY:
        end_with(words.still_starting(systemd.last_lines_of_log()), Exit.UNREACHABLE)
    if start is systemd.Start.FAILED:
        end_with(words.did_not_start(systemd.last_lines_of_log()), Exit.FAILED)


@app.command(cls=Command)
def uninstall() -> None:
    """Stop the service and remove it; documents, notes and settings stay.

    $ kb service uninstall
    """
    from kb.cli.render import service as words
    from kb.cli.service import systemd
    from kb.settings import SettingsError
    from kb.settings.unattended import load_unattended_settings

    with _ending_plainly():
        systemd.require_systemd()
        state = systemd.read_state()
        file = _place_of(state)
        unit = _read_own(file)
        if unit is None and not (state.is_running or state.is_enabled or file.is_symlink()):
            end_with(words.not_installed(file), Exit.NOT_FOUND)
        # Before systemd removes the link.
        target = file.resolve()
        systemd.stop_and_disable()
        for one in (file, target):
            one.unlink(missing_ok=True)
        systemd.forget()
        words.show_removed(file)
        with suppress(SettingsError):
            words.show_what_stays(load_unattended_settings(_environment_of(unit))[0])


@app.command(cls=Command)
def status(*, as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON, in one line.")] = False) -> None:
    """Show whether the service is installed, enabled and running, and whether the engine answers.

    $ kb service status

    The exit code is 0 if it runs and the engine answers, 3 if it is not installed, 6 if no engine answers or it is
    still starting, 1 if one answers that the service has not started, or if the settings cannot be used, and 4 if the
    unit is masked or somebody else's.
    """
    from kb.cli.render import service as words
    from kb.cli.render.terminal import print_json
    from kb.cli.service import systemd
    from kb.cli.service.addresses import Addresses, version_of
    from kb.cli.service.standing import Standing
    from kb.settings import SettingsError

    with _ending_plainly():
        systemd.require_systemd()
        state = systemd.read_state()
        file = _place_of(state)
        unit = _read_own(file)
        addresses, problem = None, ""
        try:
            addresses = Addresses.of(*_load_settings(unit))
        except SettingsError as error:
            problem = str(error)
        version = version_of(addresses) if addresses else None
        standing = Standing(file, unit, state, addresses, problem, version)
        if as_json:
            print_json(words.describe(standing))
        else:
            words.show_standing(standing)
        if not standing.is_installed:
            raise typer.Exit(Exit.NOT_FOUND)
        if not standing.is_well:
            raise typer.Exit(Exit.UNREACHABLE if standing.is_awaited else Exit.FAILED)


def _place_of(state: "State") -> Path:
    """systemd knows best: a shell may call another folder the one of configuration than that in which it was installed.

    A unit of this name may also come from a package, or from an administrator.
    """
    from kb.cli.service.unit import NAME
    from kb.settings import config_home

    return state.file or config_home() / "systemd" / "user" / NAME


def _read_own(file: Path) -> str | None:
    """The unit, if it is there. Ends the command if somebody else has written it."""
    from kb.cli.render.service import masked, written_by_somebody_else
    from kb.cli.service.unit import is_ours

    if file.resolve() == Path(os.devnull):
        end_with(masked(file), Exit.REFUSED)
    try:
        unit = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    if not is_ours(unit):
        end_with(written_by_somebody_else(file), Exit.REFUSED)
    return unit


def _environment_of(unit: str | None) -> dict[str, str]:
    """In which a service finds its settings; one that is not there yet, as this shell does."""
    from kb.cli.service.unit import folders_of
    from kb.settings.unattended import as_installed, folders_named

    return as_installed(folders_named() if unit is None else folders_of(unit))


def _load_settings(unit: str | None = None) -> "tuple[EngineSettings, McpSettings | None]":
    """None for the MCP server where that is not installed: `kb up` starts the engine alone."""
    from kb.cli.render.service import NO_FIXED_PORT, in_the_file
    from kb.settings import SettingsError
    from kb.settings.unattended import load_unattended_settings

    has_mcp = find_spec("mcp") is not None
    try:
        engine, mcp = load_unattended_settings(_environment_of(unit))
        engine.refuse_public_without_key()
        if has_mcp:
            mcp.refuse_public_without_key()
    except SettingsError as error:
        raise SettingsError(*map(in_the_file, error.sentences)) from error
    if engine.port == 0 or (has_mcp and mcp.mcp_port == 0):
        raise SettingsError(NO_FIXED_PORT)
    return engine, mcp if has_mcp else None


def _require_engine() -> None:
    from kb.cli.render.programs import not_installed

    if find_spec("fastapi") is None:
        end_with(not_installed("engine"), Exit.FAILED)


@contextmanager
def _ending_plainly() -> Iterator[None]:
    from kb.cli.render import service as words
    from kb.cli.service.systemd import NoSystemd, Refused, TooOld

    try:
        with ending_plainly():
            yield
    except NoSystemd as error:
        end_with(words.no_systemd(str(error)), Exit.REFUSED)
    except TooOld as error:
        end_with(words.systemd_too_old(str(error)), Exit.REFUSED)
    except Refused as error:
        end_with(words.systemd_refused(str(error)), Exit.FAILED)
    except OSError as error:
        end_with(words.cannot_be_changed(error), Exit.FAILED)
