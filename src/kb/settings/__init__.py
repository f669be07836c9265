"""Every option of every program: its name, its default, what it allows and what it means.

A value comes from a flag, else from the environment, else from `kb.toml` in the config directory, else from
the default. The option `max_file_mb` is the flag `--max-file-mb`, the variable `KB_MAX_FILE_MB` and the key
`max_file_mb`. A secret may also stand in a file of its own: `KB_API_KEY_FILE` names it.

This package is the only reader of the environment. The reference page is made from `describe_options`.

    programs    the options
    kinds       the kinds of values they have
    sources     where the values come from
    reading     the settings of one program, made of them
    explaining  what each option is now, and who says so
    unattended  what a service sees of all that
    folders     where things are kept by default
    keys        those that stand in a secret
    private     the files that agents may not read
    editor      the user's own, which other programs use too
"""

import os
from collections.abc import Mapping

from kb.settings.editor import editor_command
from kb.settings.folders import cache_dir, config_dir, config_home, home_dir, model_folder
from kb.settings.keys import every_key, present_key
from kb.settings.private import private_paths
from kb.settings.programs import (
    LOOPBACK_NAMES,
    ClientSettings,
    EngineSettings,
    McpSettings,
    SettingsError,
    is_loopback,
)
from kb.settings.reading import CONFIG_FILE, OptionDescription, describe_options, find_unknown_names, read_settings

__all__ = [
    "CONFIG_FILE",
    "LOOPBACK_NAMES",
    "ClientSettings",
    "EngineSettings",
    "McpSettings",
    "OptionDescription",
    "SettingsError",
    "cache_dir",
    "config_dir",
    "config_home",
    "describe_options",
    "editor_command",
    "every_key",
    "find_unknown_names",
    "home_dir",
    "is_loopback",
    "load_client_settings",
    "load_engine_settings",
    "load_mcp_settings",
    "model_folder",
    "present_key",
    "private_paths",
    "read_settings",
]


def load_engine_settings(flags: Mapping[str, object] = {}) -> EngineSettings:
    """Raise `SettingsError` for a value that cannot be used; a flag that is None was not given."""
    return read_settings(EngineSettings, flags, os.environ, config_dir())


def load_client_settings(flags: Mapping[str, object] = {}) -> ClientSettings:
    """As `load_engine_settings`, for the programs that call the engine."""
    return read_settings(ClientSettings, flags, os.environ, config_dir())


def load_mcp_settings(flags: Mapping[str, object] = {}) -> McpSettings:
    """As `load_engine_settings`, for the MCP server."""
    return read_settings(McpSettings, flags, os.environ, config_dir())
