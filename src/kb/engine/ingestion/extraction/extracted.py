"""What every reader of a format returns."""

from dataclasses import dataclass, field
from typing import Any

from kb.engine.model import Section


@dataclass(frozen=True)
class Extracted:
    title: str | None
    """From the document itself; None if it does not say."""
    sections: list[Section]
    metadata: dict[str, Any] = field(default_factory=dict)
    processing_method: str = "text_extraction"
