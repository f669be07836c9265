"""What was read in a document's pictures, and how well."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.extraction.ocr.reading import Reading


@dataclass
class PictureFindings:
    has_pages: bool = False
    """Whether more than a picture here and there was read."""
    pages: list[int] = field(default_factory=list)
    """Whose text was recognised, because they are pictures or because it was asked for."""
    pictures: int = 0
    """How many others had text in them."""
    unread_pictures: int = 0
    _characters: int = 0
    _confidence: float = 0.0

    def note(self, picture: Picture, reading: Reading) -> str:
        """The text that belongs in the picture's place."""
        if picture.is_page:
            self.has_pages = True
            self.pages += [picture.page_num] if picture.page_num is not None else []
        elif reading.text:
            self.pictures += 1
        self._characters += len(reading.text)
        self._confidence += len(reading.text) * reading.confidence
        return reading.text or picture.text

    def describe(self) -> dict[str, Any]:
        """For the document's metadata, which every hit shows: pages in ranges, for a book may have a thousand."""
        told: dict[str, Any] = {}
        if self.pages:
            told["ocr_pages"] = _render_ranges(sorted(self.pages))
        if self.pictures:
            told["ocr_pictures"] = self.pictures
        if self.unread_pictures:
            told["unread_pictures"] = self.unread_pictures
        if self._characters:
            told["ocr_confidence"] = round(self._confidence / self._characters, 3)
        return told


def _render_ranges(numbers: Iterable[int]) -> list[str]:
    """`[1, 2, 3, 7]` as `["1-3", "7"]`; the numbers ascend."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number <= ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
