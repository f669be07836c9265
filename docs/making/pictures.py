"""The pictures of the web page in the docs: what the real page shows in a real browser.

`make pictures` starts an engine on a folder of its own, adds the page's sample and the questions' own documents
(`evaluation/own`), and takes each picture below.
"""

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page
from tests.browser.chromium import open_browser, open_context
from tests.browser.filling import add_file, add_notes
from tests.browser.looks import DARK, LIGHT, PHONE, Look
from tests.browser.watching import Watch
from tests.engine_program import EngineProgram

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs/pictures"
SAMPLE = ROOT / "src/kb/sample"
OWN_SET = ROOT / "evaluation/own/corpus.jsonl"
# Letters for which any machine has a font.
FOUND_EVERYWHERE = re.compile(r"[\u0000-\u052f\u2000-\u22ff]*")
MAPPED_WITHIN_MS = 120_000
SETTLED_AFTER_MS = 3_000


@dataclass(frozen=True)
class Picture:
    place: str
    landmark: str
    """What is there once the page is."""
    look: Look = LIGHT


PICTURES_OF = {
    "search": Picture("/#/?q=drain+the+barrels+before+frost", ".preview img"),
    "search-dark": Picture("/#/?q=drain+the+barrels+before+frost", ".preview img", DARK),
    "map": Picture("/#/map?by=tag", ".map-list li"),
    "phone": Picture("/#/?q=frost", ".results li", PHONE),
    "connect": Picture("/#/connect", "pre"),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        engine = EngineProgram(Path(folder))
        engine.start()
        try:
            fill(engine)
            with open_browser() as browser:
                for name, picture in PICTURES_OF.items():
                    with open_context(browser, engine.url, Watch(), picture.look) as context:
                        take(context.new_page(), picture, PICTURES / f"{name}.png")
        finally:
            engine.stop()


def fill(engine: EngineProgram) -> None:
    for path in sorted(SAMPLE.iterdir()):
        if path.suffix in {".md", ".pdf"}:
            add_file(engine, path, ["garden"])
    documents = map(json.loads, OWN_SET.read_text(encoding="utf-8").splitlines())
    notes = [{"text": one["text"], "title": one["title"], "tags": [one["id"][:2]]} for one in documents]
    add_notes(engine, [note for note in notes if FOUND_EVERYWHERE.fullmatch(note["title"])])


def take(page: Page, picture: Picture, path: Path) -> None:
    page.goto(picture.place)
    page.locator(picture.landmark).first.wait_for(timeout=MAPPED_WITHIN_MS)
    page.locator("#query").blur()
    # The second answer of a search may still come, and move what the first one showed.
    page.wait_for_timeout(SETTLED_AFTER_MS)
    page.screenshot(path=path, animations="disabled")


if __name__ == "__main__":
    main()
