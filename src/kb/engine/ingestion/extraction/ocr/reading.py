"""What was read in a picture."""

from dataclasses import dataclass

OCR_FAILED = (
    "ocr_failed",
    "The text in its pictures cannot be recognised. Save them anew, as PNG or in another PDF, and add that.",
)


@dataclass(frozen=True)
class Reading:
    text: str
    """Paragraphs with a blank line between, columns one after the other, rows of a table as lines; "" if none."""
    confidence: float
    """From 0 to 1: the mean of its lines', weighted by their length; 0 if there are none."""
