"""Titles and headings at a length that can be shown."""


def shorten(text: str, limit: int) -> str:
    """The text on one line and at most `limit` characters long, cut after a word with `…` if need be."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[:limit]
    at_word = head.rpartition(" ")[0]
    # With no space in the second half (a URL, Chinese), a cut inside the word says more.
    return (at_word if len(at_word) >= limit // 2 else head[:-1]) + "…"
