"""A folder followed until the user ends it: it is looked at again and again.

Looking works on every file system, also on those that other machines or containers write to, and needs nothing
that would have to be installed. A change is carried over at the second look that finds it the same: what is still
being written, moved or taken away has another look by then.
"""

import signal
import time
from contextlib import suppress

import typer

from kb.cli.exits import Exit
from kb.cli.probing import NoAnswer, ask
from kb.cli.render import syncing as words
from kb.cli.render.terminal import complain
from kb.cli.syncing.following import Follower
from kb.cli.syncing.looking import Look

PAUSE_SECONDS = 2.0
# Of a large folder a look takes long: at most a tenth of the time goes into looking.
PAUSE_FOR_EACH_SECOND = 9.0
# What went wrong in the engine is tried again, less and less often.
LONGEST_PAUSE_SECONDS = 60.0
ANSWER_WITHIN_SECONDS = 5.0


class Watch:
    """What was seen last, and how much of it has been carried over."""

    def __init__(self, follower: Follower, engine_url: str, first: Look) -> None:
        self._follower = follower
        self._engine_url = engine_url
        self._last: Look | None = first
        self._carried = first
        self._pending: set[str] = set()
        self._absences: dict[str, str] = {}
        self._failures = 0

    def run(self) -> None:
        """Only an interruption ends it, or an error that does not pass."""
        pause = PAUSE_SECONDS
        while True:
            time.sleep(pause)
            began_at = time.process_time()
            self.look_again()
            worked = time.process_time() - began_at
            waiting = min(PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS)
            pause = max(waiting, worked * PAUSE_FOR_EACH_SECOND)

    def look_again(self) -> None:
        """Carry over what has changed and settled. Whatever is away now is waited for."""
        try:
            look = self._follower.look()
        except OSError as error:
            self._last = None
            self._miss("folder", words.folder_is_awaited(self._follower.folder, error), words.FOLDER_IS_BACK)
            return
        if (absence := self._find_absence(look)) is not None:
            self._last = None
            self._miss("folder", absence, words.FOLDER_IS_BACK)
            return
        self._find("folder")
        before, self._last = self._last, look
        if before is None:
            return
        unsettled = look.differing(before)
        has_changed = bool((look.differing(self._carried) | self._pending) - unsettled)
        if (has_changed or self._follower.is_due) and self._engine_is_there():
            self._carry_over(look, before, unsettled)

    def _find_absence(self, look: Look) -> str | None:
        """What must not be believed, since a whole folder would be deleted by it."""
        if look.is_empty and not self._carried.is_empty and not self._follower.may_be_empty:
            return words.empty_folder_is_awaited(self._follower.folder, look.skips)
        # A disk that was mounted again may be called another, but has all its files.
        if look.identity != self._carried.identity and self._carried.files.keys() - look.files.keys():
            return words.another_folder_is_awaited(self._follower.folder)
        return None

    def _carry_over(self, look: Look, before: Look, unsettled: set[str]) -> None:
        try:
            self._follower.go_on(look, before)
        except typer.Exit as error:
            if error.exit_code not in (Exit.UNREACHABLE, Exit.FAILED):
                raise
            self._failures += 1
            return
        self._failures = 0
        self._carried, self._pending = look, unsettled

    def _engine_is_there(self) -> bool:
        if not _is_there(self._engine_url):
            self._follower.forget_synced_documents()
            self._miss("engine", words.engine_is_awaited(self._engine_url), words.ENGINE_IS_BACK)
            return False
        self._find("engine")
        return True

    def _miss(self, what: str, absence: str, return_: str) -> None:
        """Say once that it is away."""
        if what not in self._absences:
            complain(absence)
        self._absences[what] = return_

    def _find(self, what: str) -> None:
        if what in self._absences:
            complain(self._absences.pop(what))


def _is_there(engine_url: str) -> bool:
    try:
        ask(f"{engine_url}/health/live", within_seconds=ANSWER_WITHIN_SECONDS)
    except NoAnswer:
        return False
    return True


def _wait_for_engine(engine_url: str) -> None:
    if _is_there(engine_url):
        return
    complain(words.engine_is_awaited(engine_url))
    while not _is_there(engine_url):
        time.sleep(PAUSE_SECONDS)
    complain(words.ENGINE_IS_BACK)


def watch_folder(follower: Follower, engine_url: str) -> None:
    """Follow the folder until Ctrl-C or SIGTERM, which is how it is meant to end."""
    # As Ctrl-C, which a call of the engine knows how to be ended by.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with suppress(KeyboardInterrupt):
            _wait_for_engine(engine_url)
            first = follower.begin()
            complain(words.watching(str(follower.folder)))
            Watch(follower, engine_url, first).run()
    except typer.Exit as error:
        if error.exit_code != Exit.INTERRUPTED:
            raise
