"""Which pictures in a document are worth reading, as far as their first bytes tell."""

from io import BytesIO

from kb.engine.errors import Unreadable

MAX_PICTURES = 200
"""Of one document. Each may take seconds, and whoever added the next document waits."""

Size = tuple[int, int]
"""Width and height."""


def reaches(size: Size, least: Size) -> bool:
    """Whichever side is the longer: writing may stand upright."""
    return max(size) >= least[0] and min(size) >= least[1]


def is_large_picture(content: bytes, least: Size) -> bool:
    """Whether it is a picture of so many pixels at least, in a format that can be read. One that is too large is one,
    too: that it is not read is to be told."""
    # Only documents with pictures pay for it.
    from kb.engine.ingestion.extraction.readers.shared.pixels import open_picture

    try:
        with open_picture(BytesIO(content)) as picture:
            return reaches(picture.size, least)
    except Unreadable as refusal:
        return refusal.code == "extraction_limit"
