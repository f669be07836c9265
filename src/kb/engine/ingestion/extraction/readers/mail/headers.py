"""The headers of a mail as people read them."""

import binascii
import re
from datetime import UTC
from email.message import Message
from email.policy import Compat32
from email.utils import parseaddr, parsedate_to_datetime

from kb.engine.ingestion.extraction.readers.shared.charsets import decode_as

# Some thousand recipients.
MAX_HEADER_CHARACTERS = 100_000
# The standard library takes the square of their length to tell parameters apart.
_MAX_PARAMETERS_CHARACTERS = 4_000
# Parsing an address takes a call for each bracket in it.
_MAX_ADDRESS_CHARACTERS = 400

_ENCODED_WORD = re.compile(r"=\?([^?\s]{1,40})\?([bqBQ])\?([^?]*)\?=")
_GAP = re.compile(r"(?<=\?=)\s+(?==\?)")
# The pattern must begin at the start of a word. Otherwise it would try again from each letter of a long word.
_WHOLE_PARAMETER = re.compile(r"(?<!\w)(\w+)\*\s*=", re.ASCII)
_PIECE_OF_PARAMETER = re.compile(r";\s*(\w+)\*\d+\*?\s*=[^;]*", re.ASCII)


class RawHeaders(Compat32):
    """Leaves headers as they were sent: the standard policy stumbles over broken ones, and is slow at long ones."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        if not name.lower().startswith("content-"):
            return value
        return _without_doubtful_pieces(value[:_MAX_PARAMETERS_CHARACTERS])


def _without_doubtful_pieces(value: str) -> str:
    """Some programs send a parameter as a whole and in pieces too, and the standard library stumbles over that."""
    whole = {name.lower() for name in _WHOLE_PARAMETER.findall(value)}
    return _PIECE_OF_PARAMETER.sub(lambda piece: "" if piece[1].lower() in whole else piece[0], value)


def read_header(message: Message, name: str) -> str:
    """The header on one line, decoded; "" if there is none."""
    return " ".join(decode_words(message.get(name, "")[:MAX_HEADER_CHARACTERS]).split())


def read_sender(message: Message) -> str:
    """The sender's name, or if there is none the address."""
    name, address = parseaddr(message.get("From", "")[:_MAX_ADDRESS_CHARACTERS])
    return decode_words(name) or address


def read_date(message: Message) -> str:
    """When it was sent, in the form of RFC 3339; "" if that cannot be told."""
    try:
        date = parsedate_to_datetime(message.get("Date", "")[:_MAX_ADDRESS_CHARACTERS])
    except (ValueError, TypeError, OverflowError):
        return ""
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).isoformat()


def read_filename(part: Message) -> str:
    """What the part is to be called as a file; "" if it does not say."""
    told = part.get_param("filename", "", "content-disposition") or part.get_param("name", "")
    if isinstance(told, tuple):
        charset, _, name = told
        return decode_as(name.encode("latin-1", errors="surrogateescape"), charset or "utf-8")
    return decode_words(told)


def decode_words(raw: str) -> str:
    """What was sent as `=?charset?encoding?...?=`, or in bytes that no header may hold, as text."""
    text = raw if raw.isascii() else decode_as(raw.encode("utf-8", errors="surrogateescape"), None)
    text = _GAP.sub("", text)
    pieces: list[tuple[str | None, bytes]] = []
    end = 0
    for word in _ENCODED_WORD.finditer(text):
        pieces += [(None, text[end : word.start()].encode()), _decode_word(word)]
        end = word.end()
    pieces.append((None, text[end:].encode()))
    return "".join(decode_as(data, charset or "utf-8") for charset, data in _join_halves(pieces))


def _decode_word(word: re.Match[str]) -> tuple[str | None, bytes]:
    charset, encoding, content = word.groups()
    try:
        data = content.encode("ascii")
        # A surplus `=` does no harm, and one that is missing does.
        decoded = binascii.a2b_base64(data + b"==") if encoding in "bB" else binascii.a2b_qp(data, header=True)
    except ValueError:
        return None, word[0].encode()
    return charset.partition("*")[0].lower(), decoded


def _join_halves(pieces: list[tuple[str | None, bytes]]) -> list[tuple[str | None, bytes]]:
    """The pieces without blank ones; programs cut encoded words in the middle of a letter, so neighbours are joined."""
    runs: list[tuple[str | None, list[bytes]]] = []
    for charset, data in pieces:
        if data and runs and runs[-1][0] == charset:
            runs[-1][1].append(data)
        elif data:
            runs.append((charset, [data]))
    return [(charset, b"".join(parts)) for charset, parts in runs]
