"""One quick question over HTTP, where loading a whole client would take longer than the answer."""

import http.client
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kb.listening import url_at
from kb.version import asks_for_key, version_in

# What answers less than a second later is not there, for somebody who has just pressed a key.
ANSWER_WITHIN_SECONDS = 1.0
# A hundred documents with all their metadata; what is longer was not meant for us.
LONGEST_ANSWER_BYTES = 16 * 1024 * 1024


def reachable(url: str) -> str:
    """The address of a program that listens on all addresses, as seen from its own machine.

    What listens on `::` answers there too, and that name is always allowed to the programs of `kb up`.
    """
    return re.sub(r"//(0\.0\.0\.0|\[::\])(?![^:/])", "//127.0.0.1", url)


def address_at(host: str, port: int) -> str:
    """Of what listens there, as seen from its own machine; without a path."""
    return reachable(url_at(host, port))


class NoAnswer(Exception):
    """Nobody is there, nobody answered in time, or it was not HTTP."""


@dataclass(frozen=True)
class Answer:
    status: int
    server: str
    body: bytes
    challenge: str = ""
    """The header `WWW-Authenticate`, by which a program that asks for a key can be recognised."""

    @property
    def json(self) -> Any:  # Any: whatever somebody else has sent
        """None if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def ask_engine(engine_url: str, path: str, key: str) -> Answer:
    """The answer to GET below `/api/v1`. The key is sent only to a program that has answered as an engine without it.

    Raises `NoAnswer`.
    """
    url = f"{engine_url}/api/v1/{path}"
    if key and version_in(ask(f"{engine_url}/health/live").server) is None:
        # A proxy may put its own name into `Server`.
        unlocked = ask(url)
        if not asks_for_key(unlocked.status, unlocked.json):
            return unlocked
    return ask(url, key)


def ask(url: str, key: str = "", *, within_seconds: float | None = None, reads_body: bool = True) -> Answer:
    """The answer to GET; raises `NoAnswer`. A body that may have no end is not to be read."""
    try:
        parts = urlsplit(url)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = connect(parts.hostname or "", parts.port, timeout=within_seconds or ANSWER_WITHIN_SECONDS)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
            response = connection.getresponse()
            body = response.read(LONGEST_ANSWER_BYTES) if reads_body else b""
            server, challenge = (response.getheader(name) or "" for name in ("Server", "WWW-Authenticate"))
            return Answer(response.status, server, body, challenge)
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NoAnswer(url) from error
