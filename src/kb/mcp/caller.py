"""Who calls: told by the guard, which sees the key, to all that come after it."""

from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.types import Scope

_IN_SCOPE = "kb.caller"


@dataclass(frozen=True)
class Caller:
    """Whom an agent's key stands for."""

    name: str
    can_write: bool


def note_caller(scope: Scope, caller: Caller) -> None:
    scope[_IN_SCOPE] = caller


def caller_of(connection: HTTPConnection) -> Caller:
    """Of a connection that was let in."""
    caller: Caller = connection.scope[_IN_SCOPE]
    return caller
