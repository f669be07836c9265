"""The version of engine, client and command line, the oldest engine the clients speak to, and how they know one."""

import re

VERSION = "3.0.0"
MIN_ENGINE_VERSION = "3.0.0"


def version_in(server: str) -> str | None:
    """What an engine tells of itself in the header `Server`; None if another program has sent it."""
    told = re.match(r"kb/([\w.+-]+)", server)
    return told[1] if told else None


def asks_for_key(status: int, answer: object) -> bool:
    """Whether an engine refuses like this a request without a key; behind a proxy its `Server` may be missing.

    Other programs have a code `unauthorized` too, but no problem of this type.
    """
    return status == 401 and isinstance(answer, dict) and answer.get("type") == "urn:kb:problem:unauthorized"


def is_supported(engine_version: str) -> bool:
    """Whether the clients speak to it. What names no version at all is older than any."""
    return _numbers(engine_version) >= _numbers(MIN_ENGINE_VERSION)


def _numbers(version: str) -> list[int]:
    # Python refuses to read numbers of thousands of digits, and anybody may send some.
    return [int(number) for number in re.findall(r"[0-9]{1,9}", version)[:3]]
