"""What every reader of a format returns.

A reader is a module in `readers/` with a function `read(path) -> Extracted`. It runs in a process of its own
(`file_child.py`) and may hang, crash or eat memory as it pleases. What it cannot read it tells by `Unreadable`; any
other exception means a damaged file.

It does not read pictures: it says where one stands and what it is called (`Picture`), and another process
(`ocr/child.py`) asks the module that `formats.py` names for the picture of that name. A format whose pages could all
be taken for pictures has a function `read_as_pictures(path)` beside `read`, for who does not trust its text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kb.engine.ingestion.sections import Section


@dataclass(frozen=True)
class Picture:
    """Its text belongs here, and is not read yet."""

    name: str
    """What the module that loads this format's pictures knows it by."""
    page_num: int | None = None
    heading: str | None = None
    is_page: bool = False
    """Whether it is all that there is of its page: then the page is unread if the picture is. Of other pictures,
    which may be mere decoration, the document does without."""
    text: str = ""
    """What stands there if nothing is legible in it."""


class Parts(Protocol):
    """A list, whose parts are cut if they are long; or, better for a document of many pages, something that reads each
    part when it is asked for. Then the first is embedded before the last is read, and one that cannot be read is
    skipped."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Sequence[Section | Picture]: ...


@dataclass(frozen=True)
class Extracted:
    parts: Parts
    """The text in the pieces that it is read in: pages, slides, or all of it at once."""
    title: str | None = None
    """From the document itself; None if it does not say."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Under the names that all formats share, as far as the document tells: `author`, `created`, `modified` (RFC 3339,
    or a date alone), `subject`, `keywords`, `language`, `publisher`, `pages`, `slides`, `sheets`, `sheet_names`; of a
    mail also `from`, `to`, `cc`, `date`, `attachments`; of a picture
    `width`, `height`, `camera`, `taken`, `position`, `colours`."""
    unit: str = "page"
    """What a part is, as in "Processing page 5 of 10"."""
    processing_method: str = "text_extraction"
