"""What the bodies of requests may take of a server's memory, all of them together.

A body of JSON is held in memory as a whole, and what it is parsed into takes many times its size where it consists
of small values: 16 MB of `[],[],[],` become 740 MB, and block the server for seconds. So three things are bounded: the
bytes of all bodies, the values of each, and how many with a great many values are parsed at a time. Values are
counted by the characters that part them, wherever these stand; that is quick, and never too little. Once parsed, they
count among the bytes.
"""

import asyncio

# Eight of the largest, or a hundred notes of 1,000,000 characters.
MAX_HELD_BYTES = 128 * 1024 * 1024
# A note may consist of 1,000,000 of these characters; all else that a body has to say takes fewer than the rest.
MAX_VALUES = 1_100_000
# More than a long text has, and parsed they take some 10 MB.
MANY_VALUES = 50_000
# Of what it is parsed into: 16 MB of `[],` have 11 million of the characters that are counted.
VALUE_BYTES = 64
TURN_WITHIN_SECONDS = 30.0

MARKS = (b",", b"[", b"{")


class TooManyValues(Exception):
    def __init__(self) -> None:
        super().__init__(f"The body has more than {MAX_VALUES} values.")


class NoRoom(Exception):
    """Now; a little later there may be."""

    def __init__(self) -> None:
        super().__init__("Too much is being sent at the same time. Try again shortly.")


class Body:
    """One of them, from its first piece until it is closed: when its request is answered, or needs it no more."""

    def __init__(self, bodies: "Bodies") -> None:
        self._bodies = bodies
        self._values = 0
        self._held_bytes = 0
        self._has_turn = False

    async def add(self, piece: bytes, *, is_last: bool) -> None:
        """Count a piece. Raises `TooManyValues` or `NoRoom`; the last one of a body with many values waits its turn."""
        self._hold(len(piece))
        self._values += sum(map(piece.count, MARKS))
        if self._values > MAX_VALUES:
            raise TooManyValues
        if self._bodies.held_bytes > MAX_HELD_BYTES:
            raise NoRoom
        if is_last and self._values > MANY_VALUES and not self._has_turn:
            try:
                async with asyncio.timeout(TURN_WITHIN_SECONDS):
                    await self._bodies.turn.acquire()
            except TimeoutError as error:
                raise NoRoom from error
            self._has_turn = True

    def end_turn(self) -> None:
        """It is parsed. What comes next may take as long as it likes."""
        if self._has_turn:
            self._has_turn = False
            self._bodies.turn.release()
            self._hold(self._values * VALUE_BYTES)

    def close(self) -> None:
        """For good; once more does nothing."""
        self.end_turn()
        self._hold(-self._held_bytes)

    def _hold(self, more_bytes: int) -> None:
        self._held_bytes += more_bytes
        self._bodies.held_bytes += more_bytes


class Bodies:
    """Those of one server. Used by the loop that serves, and by no other thread."""

    def __init__(self) -> None:
        self.held_bytes = 0
        self.turn = asyncio.Lock()

    def open(self) -> Body:
        return Body(self)
