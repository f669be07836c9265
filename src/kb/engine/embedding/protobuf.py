"""Protobuf's wire format, as far as writing an ONNX model needs it.

A message is a list of byte pieces and not one string, so that a model's weights reach the file without
being copied on the way.
"""

import struct
from collections.abc import Iterable
from typing import TypeAlias

Pieces: TypeAlias = list[bytes | memoryview]

_VARINT, _BYTES, _FIXED32 = 0, 2, 5


def varint(value: int) -> bytes:
    # A negative number is written as its 64-bit two's complement.
    value &= 0xFFFF_FFFF_FFFF_FFFF
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def integer(field: int, value: int) -> Pieces:
    return [varint(field << 3 | _VARINT), varint(value)]


def real(field: int, value: float) -> Pieces:
    return [varint(field << 3 | _FIXED32), struct.pack("<f", value)]


def string(field: int, value: str) -> Pieces:
    return message(field, [value.encode()])


def message(field: int, pieces: Iterable[bytes | memoryview]) -> Pieces:
    """A nested message, or plain bytes: on the wire they are the same. Views must be of single bytes."""
    pieces = list(pieces)
    return [varint(field << 3 | _BYTES), varint(sum(map(len, pieces))), *pieces]
