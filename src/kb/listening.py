"""What engine and MCP server have in common as programs that listen: the socket, and who may call.

A loopback address is no protection: any web page can send requests to it, and with DNS rebinding read the
answers. So the names under which a program is called (Host) and the pages that call it (Origin) are checked
always, key or no key.
"""

import errno
import hashlib
import hmac
import re
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

BACKLOG = 2048
LOOK_EVERY_SECONDS = 0.1

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class CannotStart(Exception):
    """What a program needs is not to be had, such as its port. The message says what to do."""


@dataclass(frozen=True)
class Access:
    """Who may call, and under which names. No writing key means that none is needed."""

    writing_keys: tuple[str, ...]
    """The present one, and those before it that are still taken."""
    reading_keys: tuple[str, ...]
    hosts: tuple[str, ...]
    origins: tuple[str, ...]


class AllowedNames:
    """The hosts under which a program may be called, and those whose pages may call it. They ask for whole headers."""

    def __init__(self, access: Access) -> None:
        self._hosts = {host.lower() for host in access.hosts}
        self._origins = {origin.lower() for origin in access.origins}

    def allow_host(self, hosts: Sequence[str]) -> bool:
        return len(hosts) == 1 and _without_port(hosts[0]) in self._hosts

    def allow_origin(self, origins: Iterable[str]) -> bool:
        return all(self._is_known(origin.lower()) for origin in origins)

    def _is_known(self, origin: str) -> bool:
        return origin in self._origins or _without_port(origin.partition("://")[2]) in self._origins


def is_from_another_site(origins: Sequence[str], fetch_site: str | None) -> bool:
    """Of a request without an Origin, a browser tells in Sec-Fetch-Site what it would otherwise keep to itself."""
    return not origins and (fetch_site or "").lower() in ("cross-site", "same-site")


def bearer_key(authorization: Sequence[str]) -> str:
    """The key in the Authorization headers of a request; empty if there is none, or more than one."""
    scheme, _, key = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
    return key if scheme.lower() == "bearer" else ""


@dataclass(frozen=True)
class KnownKey:
    can_write: bool
    number: int
    """1 for the present key, more for one that is still taken."""


class KeyRing:
    """The keys that open a program. Kept as digests: these are equally long, and are compared in equal time."""

    def __init__(self, access: Access) -> None:
        self.is_open = not access.writing_keys
        writing, reading = access.writing_keys, () if self.is_open else access.reading_keys
        keys = {KnownKey(can_write=True, number=number): key for number, key in enumerate(writing, 1)}
        keys |= {KnownKey(can_write=False, number=number): key for number, key in enumerate(reading, 1)}
        self._digests = {known: _digest(key.encode()) for known, key in keys.items()}

    def recognise(self, given: str) -> KnownKey | None:
        """`given` is from a header as the framework shows it: Latin-1. Takes equally long whichever key it is."""
        digest = _digest(given.encode("latin-1"))
        matching = [known for known, one in self._digests.items() if hmac.compare_digest(digest, one)]
        return matching[0] if matching else None


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def listen(
    host: str,
    port: int,
    port_variable: str,
    *,
    patience_seconds: float = 0.0,
    on_wait: Callable[[], None] | None = None,
) -> socket.socket:
    """A socket to which clients can connect from now on. Raises `CannotStart` if the address stays taken so long.

    `on_wait` is called once if it is taken at first.
    """
    give_up_at = time.monotonic() + patience_seconds
    while True:
        try:
            return _listen(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() >= give_up_at:
                raise CannotStart(
                    f"Cannot listen on {host} port {port}: {error.strerror}. "
                    f"Stop what uses it, or choose another {port_variable}."
                ) from error
            if on_wait is not None:
                on_wait()
                on_wait = None
            time.sleep(LOOK_EVERY_SECONDS)


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _without_port(host: str) -> str:
    """`[::1]:8000` is `[::1]`."""
    return re.sub(r":\d*$", "", host.lower())
