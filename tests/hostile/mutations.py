"""Ways to change a file a little, so that it is still almost what it was.

Each takes a source of chance, the content and words of its format, and gives the changed content. What it does depends
on nothing else.
"""

import random
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

Chance: TypeAlias = random.Random
Words: TypeAlias = Sequence[bytes]
Mutation: TypeAlias = Callable[[Chance, bytes, Words], bytes]

MAX_BYTES = 20_000
"""What grows stops growing there. To embed a long text takes long, and that is all that it would show."""
NUMBERS = (0, 1, -1, 2, 7, 8, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
LARGE_NUMBERS = (2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 10**30, -(2**31), -(2**63))
_DIGITS = re.compile(rb"\d+")
_PAIRS = ((b"<a>", b"</a>"), (b"[", b"]"), (b"{", b"}"), (b"(", b")"), (b"<<", b">>"), (b'"', b'"'))
_MAX_BLOCK_BYTES = 2000


def mutate(chance: Chance, content: bytes, words: Words) -> bytes:
    """Change it in one to four ways, and never to nothing."""
    content = content or b"\0"
    for _ in range(chance.choice((1, 1, 2, 2, 3, 4))):
        changed = chance.choice(MUTATIONS)(chance, content, words)
        content = changed[: max(len(content), MAX_BYTES)] or b"\0"
    return content


def splice(chance: Chance, content: bytes, other: bytes) -> bytes:
    """The beginning of one and the end of the other."""
    return content[: _place(chance, content)] + other[_place(chance, other) :] or b"\0"


def _place(chance: Chance, content: bytes) -> int:
    return chance.randint(0, len(content))


def _block(chance: Chance, content: bytes) -> slice:
    start = _place(chance, content)
    return slice(start, start + chance.randint(1, chance.choice((4, 40, _MAX_BLOCK_BYTES))))


def _put(content: bytes, place: slice, new: bytes) -> bytes:
    return content[: place.start] + new + content[place.stop :]


def flip_bits(chance: Chance, content: bytes, words: Words) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 8, 64))):
        bit = chance.randrange(len(changed) * 8)
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def set_bytes(chance: Chance, content: bytes, words: Words) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 4, 16))):
        changed[chance.randrange(len(changed))] = chance.choice((0, 0x20, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    return bytes(changed)


def cut_off(chance: Chance, content: bytes, words: Words) -> bytes:
    place = _place(chance, content)
    return content[:place] if chance.random() < 0.7 else content[place:]


def delete_block(chance: Chance, content: bytes, words: Words) -> bytes:
    return _put(content, _block(chance, content), b"")


def repeat_block(chance: Chance, content: bytes, words: Words) -> bytes:
    block = _block(chance, content)
    return _put(content, block, content[block] * chance.choice((2, 3, 100, 1000)))


def swap_blocks(chance: Chance, content: bytes, words: Words) -> bytes:
    first, second = sorted((_block(chance, content), _block(chance, content)), key=lambda block: block.start)
    if first.stop > second.start:
        return content
    return _put(_put(content, second, content[first]), first, content[second])


def insert_noise(chance: Chance, content: bytes, words: Words) -> bytes:
    place = _place(chance, content)
    return content[:place] + chance.randbytes(chance.choice((1, 16, 500))) + content[place:]


def overwrite_with_number(chance: Chance, content: bytes, words: Words) -> bytes:
    return _put_number(chance, content, _place(chance, content))


def lie_behind_a_word(chance: Chance, content: bytes, words: Words) -> bytes:
    """Lengths, sizes and counts stand shortly behind the marks of a format."""
    places = [found for word in words if (found := _find_any(chance, content, word)) >= 0]
    if not places:
        return overwrite_with_number(chance, content, words)
    # The length of a part of a PNG stands before its name.
    return _put_number(chance, content, max(0, chance.choice(places) + chance.randint(-4, 44)))


def _find_any(chance: Chance, content: bytes, word: bytes) -> int:
    behind = content.find(word, _place(chance, content))
    return behind if behind >= 0 else content.find(word)


def _put_number(chance: Chance, content: bytes, place: int) -> bytes:
    size = chance.choice((1, 2, 4, 4, 8))
    number = chance.choice(NUMBERS) % 256**size
    return _put(content, slice(place, place + size), number.to_bytes(size, chance.choice(("big", "little"))))


def change_written_number(chance: Chance, content: bytes, words: Words) -> bytes:
    """Those that are written in digits: lengths and places in a PDF, attributes, sizes in RTF, numbers in JSON."""
    found = list(_DIGITS.finditer(content))
    if not found:
        return insert_word(chance, content, words)
    number = chance.choice(found)
    return _put(content, slice(*number.span()), b"%d" % chance.choice(NUMBERS + LARGE_NUMBERS))


def insert_word(chance: Chance, content: bytes, words: Words) -> bytes:
    place = _place(chance, content)
    return content[:place] + chance.choice(words) * chance.choice((1, 1, 2, 500)) + content[place:]


def replace_word(chance: Chance, content: bytes, words: Words) -> bytes:
    there = [word for word in words if word in content]
    if not there:
        return insert_word(chance, content, words)
    word = chance.choice(there)
    return content.replace(word, chance.choice(words), chance.choice((1, 1, -1)))


def swap_lines(chance: Chance, content: bytes, words: Words) -> bytes:
    lines = content.splitlines(keepends=True)
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def nest(chance: Chance, content: bytes, words: Words) -> bytes:
    block, depth = _block(chance, content), chance.choice((2, 100, 3000))
    opening, closing = chance.choice(_PAIRS)
    return _put(content, block, opening * depth + content[block] + closing * chance.choice((depth, depth - 1, 0)))


MUTATIONS: tuple[Mutation, ...] = (
    flip_bits,
    set_bytes,
    cut_off,
    delete_block,
    repeat_block,
    swap_blocks,
    insert_noise,
    overwrite_with_number,
    lie_behind_a_word,
    lie_behind_a_word,
    change_written_number,
    change_written_number,
    insert_word,
    replace_word,
    replace_word,
    swap_lines,
    nest,
)
