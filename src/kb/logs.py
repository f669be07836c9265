"""Where the programs' logs go, and how a line looks."""

import logging

# Libraries that would say again, in their own words, what our programs say.
QUIET_LIBRARIES = ("httpx", "mcp", "uvicorn")
# What uvicorn says of requests that are broken or refused: anybody could fill the log with it.
OF_NO_INTEREST = frozenset(
    {
        "ASGI callable returned without completing handshake.",
        "Invalid HTTP request received.",
        "Unsupported upgrade request.",
    }
)


def log_to_stderr(program: str) -> None:
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {program:<7} %(levelname)s %(message)s")
    for library in QUIET_LIBRARIES:
        logging.getLogger(library).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.msg not in OF_NO_INTEREST)
