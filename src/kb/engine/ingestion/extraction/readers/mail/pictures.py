"""The pictures in a mail, and in the mails that it forwards, by the names that its reader gives them."""

from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path

from PIL import Image

from kb.engine.ingestion.extraction.readers.mail.eml import content_of, name_picture, parse_mail
from kb.engine.ingestion.extraction.readers.shared.pixels import decode
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt


def open_pictures(path: Path) -> Callable[[str], Image.Image]:
    parts = parse_mail(path).walk()
    contents = [content_of(part) for part in parts if part.get_content_maintype() == "image"]
    return partial(_load, {name_picture(content): content for content in contents})


def _load(contents: Mapping[str, bytes], name: str) -> Image.Image:
    content = contents.get(name)
    if content is None:
        raise corrupt("A picture in it is missing.")
    return decode(BytesIO(content))
