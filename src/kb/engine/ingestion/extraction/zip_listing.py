"""The names of the files in a zip archive, read from its list of members alone.

The standard library's reader keeps an object for each of as many members as an archive claims to have; this one is
for the engine's own process, where a stranger's archive must cost next to nothing.
"""

import struct
from typing import BinaryIO

_END = struct.Struct("<12xL6x")
_END_MARK = b"PK\x05\x06"
_MAX_COMMENT_BYTES = 65_535
_MEMBER = struct.Struct("<4s24xHHH12x")
_MEMBER_MARK = b"PK\x01\x02"
_MAX_LIST_BYTES = 1024 * 1024
_MAX_MEMBERS = 10_000


def list_names(file: BinaryIO) -> list[str] | None:
    """As many names as can be read, with `/` between folders; None if the archive's end is missing."""
    size_bytes = file.seek(0, 2)
    tail_start = file.seek(max(0, size_bytes - _END.size - _MAX_COMMENT_BYTES))
    tail = file.read(_END.size + _MAX_COMMENT_BYTES)
    end = tail.rfind(_END_MARK, 0, max(0, len(tail) - _END.size + len(_END_MARK)))
    if end < 0:
        return None
    (list_bytes,) = _END.unpack_from(tail, end)
    # Counted back from the end, as the list ends there: its offset is wrong in archives with something put before.
    list_start = tail_start + end - list_bytes
    if list_start < 0:
        return None
    file.seek(list_start)
    return _names_in(file.read(min(list_bytes, _MAX_LIST_BYTES)))


def _names_in(members: bytes) -> list[str]:
    names: list[str] = []
    position = 0
    while position + _MEMBER.size <= len(members) and len(names) < _MAX_MEMBERS:
        mark, name_bytes, extra_bytes, comment_bytes = _MEMBER.unpack_from(members, position)
        if mark != _MEMBER_MARK:
            break
        name_start = position + _MEMBER.size
        name = members[name_start : name_start + name_bytes].decode("utf-8", errors="replace")
        names.append(name.replace("\\", "/"))
        position = name_start + name_bytes + extra_bytes + comment_bytes
    return names
