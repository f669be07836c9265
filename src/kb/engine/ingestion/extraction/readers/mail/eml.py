"""EML: a mail's head, its text, the mails that it forwards, and what is attached: text as text, pictures to be read,
the rest by name."""

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from email.message import Message
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.readers.mail.headers import (
    RawHeaders,
    read_date,
    read_filename,
    read_header,
    read_sender,
)
from kb.engine.ingestion.extraction.readers.shared.charsets import decode_as
from kb.engine.ingestion.extraction.readers.shared.outline import tidy
from kb.engine.ingestion.extraction.readers.shared.picture_sizes import MAX_PICTURES, is_large_picture
from kb.engine.ingestion.extraction.readers.shared.properties import make_properties
from kb.engine.ingestion.extraction.readers.shared.refusals import encrypted
from kb.engine.ingestion.extraction.readers.web.html_pages import read_html
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.titles import PATH_SEPARATOR, render_path, shorten

_HEAD = ("From", "To", "Cc", "Date", "Subject")
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_PGP = "-----BEGIN PGP MESSAGE-----"
_BODY = ("text/plain", "text/html")
_UNREADABLE_TEXT = ("text/rtf", "text/richtext")
# A mail that was forwarded twenty times: each time adds three levels at most.
_DEEPEST = 60
# Of a longer one only the name: it is a log or an export, and would bury the mail.
_LONGEST_ATTACHED_TEXT = 1_000_000
_MAX_NAMES_TOLD = 100
_LONGEST_NAME = 255
# Smaller ones stand under signatures: logos, and what links to other sites.
_PIXELS_AT_LEAST = (300, 200)
# Of two versions of the same text the plain one is read, unless it only says that there is another.
_MUCH_SHORTER = 3


@dataclass
class _Content:
    """What is in a mail or a part of one."""

    text: list[Section] = field(default_factory=list)
    attached: list[Section | Picture] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    is_encrypted: bool = False

    @property
    def characters(self) -> int:
        return sum(len(section.text) for section in self.text)


def read(path: Path) -> Extracted:
    message = parse_mail(path)
    content = _read_part(message, _DEEPEST)
    if content.is_encrypted and not content.text:
        raise encrypted(
            "The mail is encrypted, or its text is sealed in a signature (S/MIME). Open it in your mail program, save "
            "or forward its text, and add that."
        )
    subject = read_header(message, "Subject")
    told = {name.lower(): read_header(message, name) for name in _HEAD}
    told |= {"title": subject, "author": read_sender(message), "created": read_date(message)}
    properties = make_properties(told)
    metadata: dict[str, Any] = {**properties.metadata}
    if content.names:
        metadata["attachments"] = content.names[:_MAX_NAMES_TOLD]
    return Extracted([_name_once(_sections_of(message, content))], properties.title, metadata)


def parse_mail(path: Path) -> Message:
    sent = path.read_bytes().removeprefix(codecs.BOM_UTF8).lstrip()
    return message_from_bytes(sent, policy=RawHeaders())


def content_of(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def name_picture(content: bytes) -> str:
    """By what it is: several parts of a mail may go by one name, and a thread repeats its pictures."""
    return sha256(content).hexdigest()


def _name_once(items: Iterable[Section | Picture]) -> list[Section | Picture]:
    """Each picture where it stands first, and no more of them than may be read."""
    kept: list[Section | Picture] = []
    named: set[str] = set()
    for item in items:
        if isinstance(item, Picture):
            if item.name in named or len(named) == MAX_PICTURES:
                continue
            named.add(item.name)
        kept.append(item)
    return kept


def _sections_of(message: Message, content: _Content) -> list[Section | Picture]:
    lines = [f"{name}: {value}" for name in _HEAD if (value := read_header(message, name))]
    if content.names:
        lines.append(f"Attachments: {', '.join(content.names)}")
    head, text = "\n".join(lines), content.text
    if text and text[0].heading is None:
        head, text = f"{head}\n\n{text[0].text}".strip(), text[1:]
    return [*([Section(head)] if head else []), *text, *content.attached]


def _read_part(part: Message, levels_left: int) -> _Content:
    if not levels_left:
        raise Unreadable("extraction_limit", "The mail is nested deeper than any honest one. It is not safe to read.")
    kind = part.get_content_type()
    if kind in _ENCRYPTED:
        return _Content(names=_names_of(part, kind), is_encrypted=True)
    # The standard library decodes what is not a list, and stumbles over charsets that are none.
    payload = part.get_payload() if part.is_multipart() else None
    if not isinstance(payload, list):
        return _read_leaf(part, kind)
    if kind == "message/delivery-status":
        return _Content([Section(tidy("\n\n".join(map(_fields_of, payload))))])
    inner = [child for child in payload if isinstance(child, Message)]
    below = [_read_part(child, levels_left - 1) for child in inner]
    if kind.startswith("message/"):
        forwarded = [_forwarded(child, content) for child, content in zip(inner, below, strict=True)]
        return _Content(attached=list(chain(*forwarded)), names=_names_of(part, kind))
    return _Content(
        text=_choose(below) if kind == "multipart/alternative" else list(chain(*(one.text for one in below))),
        attached=list(chain(*(one.attached for one in below))),
        names=[name for one in below for name in one.names],
        is_encrypted=any(one.is_encrypted for one in below),
    )


def _read_leaf(part: Message, kind: str) -> _Content:
    names = _names_of(part, kind)
    if kind.startswith("image/"):
        return _Content(attached=_under(names[0] if names else "", _find_picture(part)), names=names)
    if kind in _UNREADABLE_TEXT or part.get_content_maintype() not in ("text", "multipart"):
        return _Content(names=names)
    sent = content_of(part)
    charset = part.get_content_charset()
    if kind == "text/html":
        sections = read_html(sent, charset).sections
    else:
        text = tidy(decode_as(sent, charset)) if sent else ""
        if text.lstrip().startswith(_PGP):
            return _Content(names=names, is_encrypted=True)
        sections = [Section(text)] if text.strip() else []
    if not names and kind in _BODY:
        return _Content(text=sections)
    is_bearable = sum(len(section.text) for section in sections) <= _LONGEST_ATTACHED_TEXT
    return _Content(attached=_under(names[0] if names else kind, sections) if is_bearable else [], names=names)


def _find_picture(part: Message) -> list[Picture]:
    content = content_of(part)
    return [Picture(name_picture(content))] if is_large_picture(content, _PIXELS_AT_LEAST) else []


def _choose(alternatives: Sequence[_Content]) -> list[Section]:
    """One of the versions of the same text, which begin with the simplest."""
    with_text = [one for one in alternatives if one.text]
    if not with_text:
        return []
    first, longest = with_text[0], max(with_text, key=lambda one: one.characters)
    return (longest if first.characters * _MUCH_SHORTER < longest.characters else first).text


def _names_of(part: Message, kind: str) -> list[str]:
    """The name of what is attached; of none if it is the mail's own text, or a picture in it."""
    disposition = part.get_content_disposition()
    if disposition != "attachment" and kind.startswith("image/") and part.get("Content-ID"):
        return []
    name = _fit_name(read_filename(part).replace("\\", "/").rpartition("/")[2])
    if not name and disposition == "attachment" and not kind.startswith("message/"):
        name = _fit_name(f"unnamed ({kind})")
    return [name] if name else []


def _fit_name(name: str) -> str:
    return shorten(tidy(name), _LONGEST_NAME)


def _forwarded(message: Message, content: _Content) -> list[Section | Picture]:
    return _under(read_header(message, "Subject"), _sections_of(message, content))


def _under(title: str, sections: Sequence[Section | Picture]) -> list[Section | Picture]:
    above = render_path([tidy(title)])
    return [
        replace(section, heading=PATH_SEPARATOR.join(filter(None, (above, section.heading))) or None)
        for section in sections
    ]


def _fields_of(message: object) -> str:
    """A report of a mail server: fields and no text."""
    return "\n".join(f"{name}: {value}" for name, value in message.items()) if isinstance(message, Message) else ""
