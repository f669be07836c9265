"""The version of kb, the oldest engine that clients can use, and how clients recognise an engine."""

import re

VERSION = "3.0.0"
MIN_ENGINE_VERSION = "3.0.0"


def version_in(server: str) -> str | None:
    """What an engine tells of itself in the header `Server`; None if another program has sent it."""
    told = re.match(r"kb/([\w.+-]+)", server)
    return told[1] if told else None


def asks_for_key(status: int, answer: object) -> bool:
    """Whether this is an engine's refusal of a request without a key. A proxy may have removed its `Server` header.

    Other programs may also use a code `unauthorized`, but not a problem of this type.
    """
    return status == 401 and isinstance(answer, dict) and answer.get("type") == "urn:kb:problem:unauthorized"


def is_supported(engine_version: str) -> bool:
    """Whether the clients speak to it. What names no version at all is older than any."""
    return _numbers(engine_version) >= _numbers(MIN_ENGINE_VERSION)


def _numbers(version: str) -> list[int]:
    # Python refuses to read numbers of thousands of digits, and anybody may send some.
    return [int(number) for number in re.findall(r"[0-9]{1,9}", version)[:3]]
