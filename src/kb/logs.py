"""Where the programs' logs go, and how a line looks. Each line says which request or job it belongs to.

No line holds a key, the text of a document or what somebody searched for: who reads logs need not be who may
read the base.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from kb.control_characters import CONTROL_CHARACTERS

LogFormat: TypeAlias = Literal["text", "json"]

# Libraries that would say again, in their own words, what our programs say.
QUIET_LIBRARIES = ("httpx", "mcp", "sentence_transformers", "uvicorn")
# What uvicorn says of requests that are broken or refused: anybody could fill the log with it.
OF_NO_INTEREST = frozenset(
    {
        "ASGI callable returned without completing handshake.",
        "Invalid HTTP request received.",
        "Unsupported upgrade request.",
    }
)
NOT_FOR_A_LINE = re.compile(rf"[\x00-\x1f]|{CONTROL_CHARACTERS.pattern}")

_ids: ContextVar[Mapping[str, str | int]] = ContextVar("log_ids", default={})  # noqa: B039 - never changed in place


@contextmanager
def log_context(**ids: str | int) -> Iterator[None]:
    """Have every line that is logged in the block say these ids: `request_id`, `job_id`."""
    token = _ids.set({**_ids.get(), **ids})
    try:
        yield
    finally:
        _ids.reset(token)


def log_to_stderr(program: str, log_format: LogFormat = "text") -> None:
    output = logging.StreamHandler()
    output.setFormatter(_TextLines(program) if log_format == "text" else _JsonLines(program))
    logging.basicConfig(level=logging.INFO, handlers=[output])
    for library in QUIET_LIBRARIES:
        logging.getLogger(library).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.msg not in OF_NO_INTEREST)


class _TextLines(logging.Formatter):
    def __init__(self, program: str) -> None:
        super().__init__(f"%(asctime)s {program:<7} %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line without a traceback, which comes behind it."""
        ids = "".join(f" {name.removesuffix('_id')}={value}" for name, value in _ids.get().items())
        # A path or a file's name that holds a line break must not look like two lines.
        return NOT_FOR_A_LINE.sub(lambda found: f"\\x{ord(found[0]):02x}", super().formatMessage(record)) + ids


class _JsonLines(logging.Formatter):
    def __init__(self, program: str) -> None:
        super().__init__()
        self._program = program

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "program": self._program,
            "message": record.getMessage(),
            **_ids.get(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)
