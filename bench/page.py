"""How soon the page shows what is typed, and how smoothly it moves, in a real browser on 10,000 documents.

    python -m bench.page [DOCUMENTS]

Typing is measured from the event of a key to the frame in which results stand; moving by the time between frames.
"""

import statistics
import sys
import tempfile
from itertools import islice
from pathlib import Path

from playwright.sync_api import Page
from tests.browser.chromium import open_browser, open_context
from tests.browser.watching import Watch

from bench.engine_process import start_engine
from bench.figures import p95
from bench.filled_base import fill_base, make_queries

QUERIES = 20
FRAMES = 180
MAPPED_WITHIN_MS = 300_000

# In the page: when a key was pressed, and when results were next drawn.
WATCH_TYPING = """() => {
  window.typed = [];
  let since = 0;
  document.getElementById("query").addEventListener("input", () => (since = performance.now()), true);
  new MutationObserver(() => {
    if (!since || !document.querySelector(".results li")) return;
    const begun = since;
    since = 0;
    requestAnimationFrame(() => window.typed.push(performance.now() - begun));
  }).observe(document.getElementById("content"), { childList: true, subtree: true });
}"""

# Calls `step(frame)` in each frame; answers the milliseconds between them.
COUNT_FRAMES = """(frames) => new Promise((resolve) => {
  const step = (frame) => { %s };
  const times = [];
  let before = performance.now();
  const next = (now) => {
    times.push(now - before);
    before = now;
    if (times.length > frames) return resolve(times.slice(1));
    step(times.length);
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})"""
SCROLL = "scrollBy(0, 240)"
DRAG = """
  const canvas = document.querySelector(".map-canvas"), { left, top } = canvas.getBoundingClientRect();
  const at = { clientX: left + 300 + frame, clientY: top + 200, pointerId: 1, bubbles: true };
  const deltaY = frame % 120 < 60 ? -40 : 40;
  if (frame % 3 === 0) canvas.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY, cancelable: true }));
  else canvas.dispatchEvent(new PointerEvent("pointermove", at));
"""


def main() -> None:
    documents = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        fill_base(Path(folder), documents, chunks_per_document=1)
        with (
            start_engine(Path(folder)) as (client, _),
            open_browser() as browser,
            open_context(browser, str(client.base_url).rstrip("/"), Watch()) as context,
        ):
            page = context.new_page()
            print(f"{documents} documents of one chunk; ms")
            report("from a key to its results", type_queries(page))
            report("between frames, scrolling the list", move(page, "/#/documents", "[role=row]", SCROLL))
            page.goto("/#/map")
            page.wait_for_selector(".map-list li", timeout=MAPPED_WITHIN_MS)
            report("between frames, moving the map", move(page, "/#/map", ".map-list li", DRAG))


def type_queries(page: Page) -> list[float]:
    page.goto("/")
    page.evaluate(WATCH_TYPING)
    for query in islice(make_queries(), QUERIES):
        page.fill("#query", "")
        page.locator("#query").press_sequentially(query[:30], delay=120)
        page.wait_for_timeout(500)
    times: list[float] = page.evaluate("window.typed")
    return times


def move(page: Page, place: str, landmark: str, step: str) -> list[float]:
    page.goto(place)
    page.wait_for_selector(landmark)
    times: list[float] = page.evaluate(COUNT_FRAMES % step, FRAMES)
    return times


def report(what: str, times: list[float]) -> None:
    print(f"{what:36} p50 {statistics.median(times):6.1f}  p95 {p95(times):6.1f}  longest {max(times):6.1f}")


if __name__ == "__main__":
    main()
