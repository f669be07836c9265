"""Tells systemd that `kb up` has started: the few lines of sd_notify(3) that this takes.

That is when engine and MCP server answer, and not when the process is there: a service without its port, or in the
middle of an upgrade, does not count as active.
"""

import logging
import socket
import threading
import time
from collections.abc import Sequence

from kb.cli.probing import NoAnswer, ask
from kb.settings.unattended import notify_socket

LOOK_EVERY_SECONDS = 0.1

log = logging.getLogger(__name__)


def tell_when_ready(*urls: str) -> None:
    """Once each of them answers, whatever it says. Does nothing unless somebody waits for that."""
    name = notify_socket()
    if name:
        threading.Thread(target=_tell_when_ready, args=(name, urls), name="readiness", daemon=True).start()


def _tell_when_ready(name: str, urls: Sequence[str]) -> None:
    for url in urls:
        while not _answers(url):
            time.sleep(LOOK_EVERY_SECONDS)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifying:
            # The name of an abstract socket begins with a zero byte, which no variable can hold.
            notifying.connect(f"\0{name[1:]}" if name.startswith("@") else name)
            notifying.sendall(b"READY=1")
    except OSError as error:
        log.warning("systemd could not be told that kb has started: %s", error)


def _answers(url: str) -> bool:
    try:
        ask(url)
    except NoAnswer:
        return False
    return True
