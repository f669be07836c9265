"""The reference page of the settings: every option of every program."""

from kb.settings import OptionDescription, describe_options

_HEAD = """\
# Settings

<!-- Made by `make docs` from src/kb/settings/programs.py: change it there. -->

Everything works with none of these set. A value comes from a flag of the command, else from the environment,
else from the file `kb.toml` in the config directory (`~/.config/kb` on Linux), else it is the default.

- The variable `KB_MAX_FILE_MB` is the key `max_file_mb` in `kb.toml`.
- An empty variable counts as not set.
- Lists are separated by commas; in `kb.toml` they may also be arrays.
- A relative path in `kb.toml` counts from the folder of `kb.toml`, any other from where the program is started.
- A key may stand in a file of its own: `KB_API_KEY_FILE` names the file that holds `KB_API_KEY`.
- A `KB_` variable or a key in `kb.toml` that kb does not know is reported at start with the nearest real one.

| Variable | Default | Allowed | Meaning | Read by |
|---|---|---|---|---|
"""


def render_settings() -> str:
    return _HEAD + "".join(_render_row(option) for option in describe_options())


def _render_row(option: OptionDescription) -> str:
    programs = ", ".join(option.programs)
    return f"| `{option.variable}` | {option.default} | {option.allowed} | {option.meaning} | {programs} |\n"
