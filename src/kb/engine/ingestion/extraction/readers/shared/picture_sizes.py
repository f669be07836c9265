"""Which pictures in a document are worth reading, as far as their first bytes tell."""

from io import BytesIO

from kb.engine.errors import Unreadable

MAX_PICTURES = 200
"""Of one document. Each may take seconds, and whoever added the next document waits."""

Size = tuple[int, int]
"""Width and height."""


def is_at_least(least: Size, size: Size) -> bool:
    """Whichever side is the longer: writing may stand upright."""
    return max(size) >= least[0] and min(size) >= least[1]


def is_picture_of_at_least(least: Size, content: bytes) -> bool:
    """Whether it is a picture of so many pixels, in a format that can be read. One that is too large is one, too: that
    it is not read is to be told."""
    # Only documents with pictures pay for it.
    from kb.engine.ingestion.extraction.readers.shared.pixels import open_picture

    try:
        with open_picture(BytesIO(content)) as picture:
            return is_at_least(least, picture.size)
    except Unreadable as refusal:
        return refusal.reason == "extraction_limit"
