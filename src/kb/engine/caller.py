"""On whose behalf something is done. Set where a request comes in or a job begins, read where it is written down."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from kb.engine.model import JobId


@dataclass(frozen=True)
class Caller:
    key_name: str
    """The name of the key that was shown, never the key."""
    request_id: str | None = None
    job_id: JobId | None = None
    """The job that does it, where it is done later."""
    can_write: bool = True


NO_KEY = "none"
"""The key name of whoever calls an engine that asks for no key."""
THE_ENGINE = Caller("engine")

_current: ContextVar[Caller] = ContextVar("caller", default=THE_ENGINE)


def current_caller() -> Caller:
    return _current.get()


@contextmanager
def acting_for(caller: Caller) -> Iterator[None]:
    token = _current.set(caller)
    try:
        yield
    finally:
        _current.reset(token)
