"""A text in the user's editor. What was typed is never lost: until it is saved, its file stays."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.render.editing import NO_EDITOR, NOT_TEXT, cannot_start, does_not_wait, draft_is_kept, editor_failed
from kb.cli.render.terminal import complain
from kb.settings import editor_command

FALLBACKS = ("nano", "vi", "notepad")
STDERR = 2
# Nobody opens an editor, looks at a text and closes it that fast.
AT_ONCE_SECONDS = 0.5
# How a program ends that Ctrl-C has ended, and how a shell says so of one.
INTERRUPTED = (-signal.SIGINT, 128 + signal.SIGINT)


def choose_editor() -> list[str]:
    """The user's own, else one that is there. Ends the command if there is none, or nobody to use it."""
    if command := editor_command():
        return command
    found = [name for name in FALLBACKS if shutil.which(name)]
    if found and sys.stdin.isatty():
        return found[:1]
    end_with(NO_EDITOR, Exit.FAILED if sys.stdin.isatty() else Exit.USAGE)


class Draft:
    """A file that only its user can read."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.may_be_open = False
        self._text = text
        # A last line that does not end is what most editors mend without being asked.
        self._written = (text if text.endswith("\n") else f"{text}\n").encode()
        _write(path, self._written)

    def edit(self, editor: Sequence[str]) -> None:
        """Return when the editor is closed. Ends the command if it fails or cannot be started."""
        began = time.monotonic()
        # What an editor writes is for the screen; our own output may be going elsewhere.
        screen = None if sys.stdout.isatty() else STDERR
        try:
            with _leaving_interrupts_to_the_editor():
                command = [*editor, str(self.path)]
                code = subprocess.run(command, check=False, stdout=screen).returncode  # noqa: S603  the user's choice
        except (OSError, ValueError) as error:
            end_with(cannot_start(editor[0], error), Exit.FAILED)
        if code in INTERRUPTED:
            raise KeyboardInterrupt
        if code:
            end_with(editor_failed(editor[0], code), Exit.FAILED)
        if self._content() == self._written and time.monotonic() - began < AT_ONCE_SECONDS:
            # What is typed into a window that is still open must not go with the file.
            self.may_be_open = True
            complain(does_not_wait(self.path))

    def read(self) -> str:
        """What it says now; empty if the file is gone. Ends the command if it is no text."""
        content = self._content()
        if content == self._written:
            return self._text
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            end_with(NOT_TEXT, Exit.FAILED)
        return text if self._text.endswith("\n") else text.removesuffix("\n")

    def has_new_text(self) -> bool:
        content = self._content()
        return bool(content.strip()) and content != self._written

    def put_beside(self, text: str) -> Path:
        """Another text, for the user to look at, in the same folder."""
        path = self.path.with_stem(f"{self.path.stem}-theirs")
        path.unlink(missing_ok=True)
        _write(path, text.encode())
        return path

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            return b""


@contextmanager
def open_draft(name: str, text: str) -> Iterator[Draft]:
    """A file with the text, gone when the block ends well, unless the editor may still have it open.

    If the block does not, and something new was typed, the file stays and the user is told where.
    """
    folder = Path(tempfile.mkdtemp(prefix="kb-"))
    is_kept = False
    try:
        draft = Draft(folder / name, text)
        try:
            yield draft
            is_kept = draft.may_be_open
        except BaseException:
            is_kept = draft.has_new_text()
            if is_kept:
                complain(draft_is_kept(draft.path))
            raise
    finally:
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


@contextmanager
def _leaving_interrupts_to_the_editor() -> Iterator[None]:
    """In an editor Ctrl-C is a key like others, and no wish to end this program."""
    # A function and not SIG_IGN, which the editor would inherit.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
