"""How long a server waits for a client, and for what: the rules alone, without a connection.

Time is counted in looks, not read from a clock. When the server itself is held up, no look happens, and so the
time that it lost is never the client's.
"""

from dataclasses import dataclass
from enum import Enum, auto


@dataclass(frozen=True)
class Limits:
    """What a client may ask of a server's patience, and all clients together of its connections."""

    look_every_seconds: float = 1.0
    head_within_seconds: float = 20.0
    """From the connection, or from the first byte behind an earlier request. A head is a few packets."""
    silence_seconds: float = 30.0
    """Of a body that is still coming, or of an answer that is still being taken."""
    least_bytes_per_second: int = 1024
    """What both must come to on average after the first `silence_seconds`. The slowest mobile networks in use
    carry several times as much; a byte now and then is a thousandth of it."""
    rest_within_seconds: float = 20.0
    """Of a body that was answered already."""
    connections: int = 1000


class Awaited(Enum):
    """What has to come from a client for a connection to go on."""

    NOTHING = auto()
    HEAD = auto()
    BODY = auto()
    REST_OF_BODY = auto()
    """Of a request that has been answered."""
    TAKING = auto()
    """That it reads what was sent to it."""


class Patience:
    """Of one connection."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._awaited = Awaited.NOTHING
        self._seconds = 0.0
        self._silent_seconds = 0.0
        self._moved_bytes = 0

    def note_progress(self, moved_bytes: int) -> None:
        """So much has come from the client, or gone to it."""
        self._silent_seconds = 0.0
        self._moved_bytes += moved_bytes

    def is_over(self, awaited: Awaited) -> bool:
        """Whether the client has been waited for long enough. To be asked at each look, and only then."""
        if awaited is not self._awaited:
            self._awaited = awaited
            self._seconds, self._silent_seconds, self._moved_bytes = 0.0, 0.0, 0
        self._seconds += self._limits.look_every_seconds
        self._silent_seconds += self._limits.look_every_seconds
        match awaited:
            case Awaited.NOTHING:
                return False
            case Awaited.HEAD:
                return self._seconds > self._limits.head_within_seconds
            case Awaited.BODY | Awaited.TAKING:
                return self._is_silent or self._is_too_slow
            case Awaited.REST_OF_BODY:
                return self._seconds > self._limits.rest_within_seconds

    @property
    def _is_silent(self) -> bool:
        return self._silent_seconds > self._limits.silence_seconds

    @property
    def _is_too_slow(self) -> bool:
        is_early = self._seconds <= self._limits.silence_seconds
        return not is_early and self._moved_bytes < self._seconds * self._limits.least_bytes_per_second
