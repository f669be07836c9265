"""Times as people read them."""

from datetime import datetime


def local_time(moment: str) -> str:
    """The engine tells UTC; a person reads a clock on the wall."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
