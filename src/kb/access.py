"""Who may call a program that listens: the same for engine and MCP server.

A loopback address is no protection: any web page can send requests to it, and with DNS rebinding read the
answers. So the names under which a program is called (Host) and the pages that call it (Origin) are checked
always, key or no key.
"""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Access:
    """Who may call, and under which names. No writing key means that none is needed."""

    writing_keys: tuple[str, ...]
    """The present one, and those before it that are still taken."""
    reading_keys: tuple[str, ...]
    hosts: tuple[str, ...]
    origins: tuple[str, ...]


class AllowedNames:
    """The hosts under which a program may be called, and the pages that may call it."""

    def __init__(self, access: Access) -> None:
        self._hosts = {host.lower() for host in access.hosts}
        self._origins = {origin.lower() for origin in access.origins}

    def allow_host(self, headers: Headers) -> bool:
        hosts = headers.getlist("host")
        return len(hosts) == 1 and _without_port(hosts[0]) in self._hosts

    def allow_sender(self, headers: Headers, *, own_origin: str | None) -> bool:
        """Whether no page sends the request, or a page of `own_origin`, or a page that was configured."""
        origins = {origin.lower() for origin in headers.getlist("origin")}
        if origins and origins <= self._origins:
            return True
        return origins <= {own_origin} and not _is_sent_by_another_page(headers)


def _is_sent_by_another_page(headers: Headers) -> bool:
    """Whether Sec-Fetch-Site names another page as the sender. Browsers send this header even without an Origin.

    `none` means that a person typed the address, which is a navigation. Extensions also send `none`, but their requests
    are not navigations. Chromium also sends `none` when a page lets it load an address in advance (Sec-Purpose).
    """
    sites = {site.lower() for site in headers.getlist("sec-fetch-site")}
    if sites == {"none"}:
        return headers.get("sec-fetch-mode") != "navigate" or "sec-purpose" in headers
    return not sites <= {"same-origin"}


def origin_of_own_pages(scheme: str, headers: Headers) -> str:
    """The origin of a page that this program serves under the Host of the request.

    A proxy with TLS gives the scheme in X-Forwarded-Proto. A page cannot set this header: the browser would first send
    a preflight request, and the program refuses those.
    """
    is_encrypted = "https" in (scheme, headers.get("x-forwarded-proto", "").lower())
    return f"{'https' if is_encrypted else 'http'}://{headers.get('host', '').lower()}"


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


def _without_port(host: str) -> str:
    """`[::1]:8000` is `[::1]`."""
    return re.sub(r":\d*$", "", host.lower())
