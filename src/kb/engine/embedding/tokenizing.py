"""What a model makes of a text before it computes: its tokens."""

from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer

# The tokenizer needs about 200 bytes a character while it works; a whole book at once would not fit.
CHARACTERS_AT_ONCE = 50_000

# An agent asks again, a person turns the page. With its tokens a vector takes less than 4 KB.
KEPT_QUERIES = 1_000


def open_tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    # The file asks for 128 tokens, no more and no less: long texts would be cut, short ones padded.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def find_token_spans(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    """Where each token of the whole text begins and ends, in characters."""
    return [
        (start + begin, start + end)
        for start, stretch in _stretches(text)
        for begin, end in tokenizer.encode(stretch, add_special_tokens=False).offsets
    ]


def _stretches(text: str) -> Iterator[tuple[int, str]]:
    """The text in pieces of bearable size and where each begins, cut at blanks, which no token crosses."""
    start = 0
    while len(text) - start > CHARACTERS_AT_ONCE:
        limit = start + CHARACTERS_AT_ONCE
        blank = max(text.rfind(blank, start, limit) for blank in " \n\t\r")
        # A run this long without a blank is cut anywhere: at worst, one token becomes two.
        end = blank + 1 if blank >= start else limit
        yield start, text[start:end]
        start = end
    yield start, text[start:]
