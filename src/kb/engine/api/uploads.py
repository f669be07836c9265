"""A multipart form read as it arrives: the file goes straight to disk, so memory stays flat for the largest one."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool

from kb.engine.api.errors import Unparseable
from kb.engine.errors import FileTooLarge, InvalidRequest
from kb.engine.originals import IncomingFile

# All fields but the file: metadata, titles, tags.
MAX_FIELD_BYTES = 1024 * 1024
MAX_PARTS = 2000
# The parser takes no longer one; RFC 2046 allows 70.
MAX_BOUNDARY_BYTES = 256


@dataclass
class UploadForm:
    """What a form held: its text fields, and the name of the file whose bytes are on disk by now."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    filename: str | None = None


@dataclass
class _Part:
    name: str
    filename: str | None
    data: bytearray = field(default_factory=bytearray)


class _FormReader:
    """Turns the parser's events into parts. Bytes of the file pile up in `file_bytes` until they are taken."""

    def __init__(self, boundary: bytes) -> None:
        self.form = UploadForm()
        self.file_bytes = bytearray()
        self._part: _Part | None = None
        self._part_count = 0
        self._field_bytes = 0
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._is_whole = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": lambda data, start, end: self._header_name.extend(data[start:end]),
                "on_header_value": lambda data, start, end: self._header_value.extend(data[start:end]),
                "on_header_end": self._end_header,
                "on_headers_finished": self._open_part,
                "on_part_data": self._take_data,
                "on_part_end": self._end_part,
                "on_end": self._end_form,
            },
        )

    def feed(self, data: bytes) -> None:
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise Unparseable("The form is not valid multipart/form-data.") from error

    def require_end(self) -> None:
        if not self._is_whole:
            raise Unparseable("The form ends before its closing boundary.")

    def take_file_bytes(self) -> bytes:
        taken = bytes(self.file_bytes)
        self.file_bytes.clear()
        return taken

    def _begin_part(self) -> None:
        self._part_count += 1
        if self._part_count > MAX_PARTS:
            raise InvalidRequest(f"The form has more than {MAX_PARTS} parts.")
        self._headers.clear()

    def _end_header(self) -> None:
        self._headers[bytes(self._header_name).lower()] = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _open_part(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        name = _decode(options.get(b"name", b""))
        filename = _decode(options[b"filename"]) if b"filename" in options else None
        if (name == "file") != (filename is not None):
            raise InvalidRequest("The form needs its file in a part called `file`, and only there.")
        if filename is not None:
            if self.form.filename is not None:
                raise InvalidRequest("The form holds more than one file. Send one request for each.")
            self.form.filename = filename
        self._part = _Part(name, filename)

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        part = self._part
        assert part is not None  # noqa: S101 - the parser opens a part before it has data
        if part.filename is not None:
            self.file_bytes += data[start:end]
            return
        self._field_bytes += end - start
        if self._field_bytes > MAX_FIELD_BYTES:
            raise InvalidRequest(f"The form's fields are larger than {MAX_FIELD_BYTES} bytes.")
        part.data += data[start:end]

    def _end_part(self) -> None:
        part = self._part
        if part is not None and part.filename is None:
            self.form.fields.setdefault(part.name, []).append(_decode(bytes(part.data)))
        self._part = None

    def _end_form(self) -> None:
        self._is_whole = True


async def receive_form(
    content_type: str, body: AsyncIterator[bytes], incoming: IncomingFile, *, max_file_bytes: int
) -> UploadForm:
    """Read the whole form, its file into `incoming`. Raises `InvalidRequest` or `FileTooLarge`."""
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= MAX_BOUNDARY_BYTES:
        raise Unparseable(f"The Content-Type of the form must name a boundary of 1 to {MAX_BOUNDARY_BYTES} bytes.")
    reader = _FormReader(boundary)
    async for data in body:
        reader.feed(data)
        if reader.file_bytes:
            await run_in_threadpool(incoming.write, reader.take_file_bytes())
        if incoming.size_bytes > max_file_bytes:
            raise FileTooLarge(max_file_bytes)
    reader.require_end()
    if reader.form.filename is None:
        raise InvalidRequest("The form has no part called `file` with a filename.")
    return reader.form


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Unparseable("The form's names and fields must be UTF-8.") from error
