"""How long a text is for the model, which counts in tokens."""

from collections.abc import Callable

TokenSpans = Callable[[str], list[tuple[int, int]]]
"""Where each token of a text begins and ends."""

# A word that the tokenizer does not know is one token, be it a million characters long. English has some
# five characters a token; a passage with more than this many is not prose, and would be too long to read.
MAX_CHARACTERS_PER_TOKEN = 8

# How many characters are tokenised at a time: a token costs about 200 bytes of memory, and a text file may be 100 MB.
STRETCH = 200_000
