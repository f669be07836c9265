"""What is told of files that are written here."""

from pathlib import Path

from kb.cli.render.terminal import one_line, open_console, readable_size

BROKE_OFF = "The file broke off on its way. The engine's log may tell why; then do the same again."
NO_FILE = "There is something of this name that is no file. Choose another name."
NOT_FOR_TERMINALS = "An original is not for the terminal. Save it with -o PATH, or read its text with --text."


def file_exists(path: Path) -> str:
    return f"{path} is already there. Choose another name, or add --force to replace it."


def cannot_be_written(error: OSError) -> str:
    return f"It cannot be written: {error.strerror}."


def show_saved(size_bytes: int, file: str) -> None:
    open_console().print(one_line(f"Saved {readable_size(size_bytes)} to {file}."))
