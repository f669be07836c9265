"""The pictures in a mail, and in the mails that it forwards, by the names that its reader gives them."""

from io import BytesIO
from pathlib import Path

from PIL import Image

from kb.engine.ingestion.extraction.readers.mail.eml import content_of, name_picture, parse_mail
from kb.engine.ingestion.extraction.readers.shared.pixels import decode
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt


class MailedPictures:
    def __init__(self, contents: list[bytes]) -> None:
        self._contents = {name_picture(content): content for content in contents}

    def load(self, name: str) -> Image.Image:
        """Raises `Unreadable` if there is no such picture, or it is damaged or too large."""
        content = self._contents.get(name)
        if content is None:
            raise corrupt("A picture in it is missing.")
        return decode(BytesIO(content))


def open_pictures(path: Path) -> MailedPictures:
    parts = parse_mail(path).walk()
    return MailedPictures([content_of(part) for part in parts if part.get_content_maintype() == "image"])
