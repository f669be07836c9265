"""`kb` on a terminal of its own, as a person uses it: what it writes there, and what is typed."""

import codecs
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping
from fcntl import ioctl
from types import TracebackType
from typing import Self

from tests.engine_program import kb_command

ANSWERS_WITHIN_SECONDS = 60.0


class OnTerminal:
    """A command whose input, output and errors are one terminal. To be used in `with`, which ends it.

    `output` is all that was written so far, with its colours and movements of the cursor.
    """

    def __init__(self, *arguments: str, environment: Mapping[str, str], columns: int = 100, rows: int = 30) -> None:
        self.output = ""
        # A piece that is read may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._screen, terminal = pty.openpty()
        ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        # It is to ask the terminal for its size, whatever that of the tests is.
        inherited = {name: value for name, value in environment.items() if name not in {"COLUMNS", "LINES"}}
        self._process = subprocess.Popen(
            kb_command(*arguments),
            env={**inherited, "TERM": "xterm-256color"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            # Its own session, so that Ctrl-C reaches it and not the tests.
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(terminal)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._screen)

    def wait_for(self, text: str) -> None:
        """Until it has written this."""
        deadline = time.monotonic() + ANSWERS_WITHIN_SECONDS
        while text not in self.output:
            assert self._read(deadline), f"It ended without writing {text!r}:\n{self.output}"

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.type("\x03")

    def wait(self) -> int:
        """Until it has ended: its exit code."""
        deadline = time.monotonic() + ANSWERS_WITHIN_SECONDS
        while self._read(deadline):
            pass
        return self._process.wait(ANSWERS_WITHIN_SECONDS)

    def _read(self, deadline: float) -> bool:
        """Whether there may be more."""
        ready, _, _ = select.select([self._screen], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"It wrote nothing for too long, and before that:\n{self.output}"
        try:
            piece = os.read(self._screen, 65_536)
        except OSError:
            # So Linux says that nobody has the terminal open any more.
            return False
        self.output += self._decoder.decode(piece)
        return bool(piece)
