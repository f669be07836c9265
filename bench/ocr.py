"""How well printed pages are read, and what it costs.

    python -m bench.ocr

The pages are those that the tests are held to (`tests/extraction/ocr/printed_pages.py`). Recall is the share of the
words that were read, wherever on the page; the word error also counts those that stand in another order. Time is that
of the processors, with one thread.
"""

import time

from tests.extraction.ocr.printed_pages import print_pages
from tests.extraction.ocr.word_errors import split_words, word_error_rate, word_recall

from kb.engine.ingestion.extraction.ocr.page import PageReader

COLUMNS = "{:30} {:>5} {:>7} {:>10} {:>10} {:>6}"


def main() -> None:
    reader = PageReader(threads=1)
    print(COLUMNS.format("page", "words", "recall", "word error", "confidence", "CPU s"))
    recalls, seconds = [], []
    for page in print_pages():
        started = time.process_time()
        reading = reader.read(page.picture)
        seconds.append(time.process_time() - started)
        recalls.append(word_recall(page.text, reading.text))
        error = word_error_rate(page.text, reading.text)
        words = len(split_words(page.text))
        figures = (f"{recalls[-1]:.3f}", f"{error:.3f}", f"{reading.confidence:.2f}", f"{seconds[-1]:.1f}")
        print(COLUMNS.format(page.name, words, *figures))
    print(f"mean recall {sum(recalls) / len(recalls):.3f}, worst {min(recalls):.3f}, {sum(seconds):.0f} CPU s in all")


if __name__ == "__main__":
    main()
