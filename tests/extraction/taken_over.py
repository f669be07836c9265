"""A reader that its file has taken over. It sends the messages that cost its parent most."""

from pathlib import Path
from typing import Any

from kb.engine.ingestion.extraction.confinement import confine
from kb.engine.ingestion.extraction.messages import open_channel

PARTS = 10
SECTIONS = 11_000


def main(task: dict[str, Any]) -> None:
    with open_channel() as say:
        confine(**task["confinement"], file=Path(task["path"]))
        say(
            {
                "title": None,
                "metadata": {},
                "unit": "page",
                "method": "text_extraction",
                "parts": PARTS,
                "confined": True,
            }
        )
        for _ in range(PARTS):
            say({"sections": [["", None, None, None, None]] * SECTIONS})
