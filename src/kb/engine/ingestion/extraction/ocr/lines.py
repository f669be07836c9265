"""Lines of print on an upright page: where they are, in its pixels, and what they say."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True)
class Line:
    box: Box
    text: str
    confidence: float
    """From 0 to 1, as the recogniser has it."""
