"""Where the programs' logs go, and how a line looks."""

import logging

# Libraries that would say again, in their own words, what our programs say.
QUIET_LIBRARIES = ("httpx", "mcp", "uvicorn")


def log_to_stderr(program: str) -> None:
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {program:<7} %(levelname)s %(message)s")
    for library in QUIET_LIBRARIES:
        logging.getLogger(library).setLevel(logging.WARNING)
