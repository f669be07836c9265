"""How far a text that was read is from the text that was printed. Case counts; marks between words do not."""

import re
from collections import Counter

# Han characters are words by themselves: nothing stands between two of them.
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['\u2019.,:/-][^\W_\u3400-\u9fff]+)*")


def split_words(text: str) -> list[str]:
    return _WORD.findall(text.replace("\u2019", "'"))


def word_recall(expected: str, got: str) -> float:
    """The share of the words expected that were read, wherever."""
    wanted = Counter(split_words(expected))
    found = wanted & Counter(split_words(got))
    return found.total() / max(1, wanted.total())


def word_error_rate(expected: str, got: str) -> float:
    """Words to be inserted, deleted and replaced until the two are equal, as a share of those expected. A word that was
    read in another place counts twice."""
    wanted, found = split_words(expected), split_words(got)
    row = list(range(len(found) + 1))
    for deleted, word in enumerate(wanted, start=1):
        diagonal, row[0] = row[0], deleted
        for place, other in enumerate(found, start=1):
            changed = min(row[place] + 1, row[place - 1] + 1, diagonal + (word != other))
            diagonal, row[place] = row[place], changed
    return row[-1] / max(1, len(wanted))
