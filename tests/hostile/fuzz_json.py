"""Requests that are JSON, and bundles, with something wrong in them."""

import hashlib
import io
import json
import re
import tarfile
from typing import Any

from tests.bundles import pack, pack_member, portable_file, portable_note
from tests.hostile.fuzz_words import WORDS
from tests.hostile.mutations import LARGE_NUMBERS, NUMBERS, Chance, mutate

_MAX_NOTE_CHARACTERS = 4_000
_TAR_WORDS = (b"ustar\0", b"0000644\0", b"originals/", b"vectors/", b"documents/", b".json", b"end.json", bytes(512))
_HEADERS: tuple[dict[str, Any], ...] = (
    {"name": "\udcff"},
    {"name": "originals/../../x"},
    {"type": tarfile.SYMTYPE, "linkname": "/etc/hostname"},
    {"type": tarfile.DIRTYPE},
    {"type": tarfile.XHDTYPE},
    {"size": 2**33},
    {"size": 2**60},
)
_WORDS = WORDS["json"]
_DIGEST = re.compile("[0-9a-f]{64}")
_VALUES: tuple[Any, ...] = (
    *NUMBERS,
    *LARGE_NUMBERS,
    0.5,
    1e308,
    float("nan"),
    None,
    True,
    "",
    " ",
    "\0",
    "\ud800",
    "../../x",
    "a" * 5000,
    [],
    {},
    [[]],
    {"a": {"a": {}}},
    "2026-02-30T25:61:61Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59Z",
    "sha256:",
)


def fuzzed_note(chance: Chance, content: bytes) -> bytes:
    """The body of a request that adds a note. Most have a text as it may come; some are themselves changed."""
    text = text_of(content)
    note: Any = {"type": "note", "text": text, "tags": ["fuzz"], "title": text[:300] or None, "metadata": {"a": [1]}}
    what = chance.random()
    if what < 0.3:
        note = change_value(chance, note)
    body = json.dumps(note, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    return mutate(chance, body, _WORDS) if what > 0.8 else body


def text_of(content: bytes) -> str:
    """As text that a note may have, or almost: no note has NULs."""
    return content.decode("utf-8", "replace").replace("\0", " ")[:_MAX_NOTE_CHARACTERS]


def change_value(chance: Chance, value: Any) -> Any:
    """Somewhere in it stands another value, a field is gone, or one is there that nobody knows."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        others = {key: one for key, one in value.items() if key != name}
        what = chance.random()
        if what < 0.1:
            return others
        return {**others, name if what < 0.9 else f"{name}s": change_value(chance, value[name])}
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        return [*value[:place], change_value(chance, value[place]), *value[place + chance.choice((0, 1, 1)) :]]
    return chance.choice(_VALUES)


def fuzzed_bundle(chance: Chance, number: int, content: bytes) -> bytes:
    """One of a note and a file. It is changed as it stands; in a header or the order of its members; or within a
    member, so that all names are right again."""
    first = 10 * (number + 1)
    bundle = pack([portable_note(first), content, portable_file(content, first + 1)])
    what = chance.random()
    if what < 0.15:
        return mutate(chance, bundle, _TAR_WORDS)
    members = _unpack(bundle)
    place = chance.randrange(len(members))
    header: dict[str, Any] = {}
    if what < 0.2:
        header = chance.choice(_HEADERS)
    elif what < 0.3:
        members.insert(chance.randrange(len(members)), members[place] if what > 0.25 else members.pop(place))
    elif what < 0.5:
        members = _replace(members, place, mutate(chance, members[place][1], _WORDS))
    else:
        place = chance.choice([at for at, (name, _) in enumerate(members) if name.startswith("documents/")])
        members = _replace(members, place, _change_document(chance, members[place][1]))
    packed = [
        pack_member(**{"name": name, "content": inside} | (header if at == place else {}))
        for at, (name, inside) in enumerate(members)
    ]
    return b"".join(packed) + bytes(1024)


def _unpack(bundle: bytes) -> list[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(bundle)) as archive:
        return [(member.name, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr] # all are files


def _change_document(chance: Chance, inside: bytes) -> bytes:
    told = json.loads(inside)
    if chance.random() < 0.9:
        told["document"] = change_value(chance, told["document"])
    else:
        told = change_value(chance, told)
    return json.dumps(told).encode()


def _replace(members: list[tuple[str, bytes]], place: int, inside: bytes) -> list[tuple[str, bytes]]:
    """Whatever referred to the member by the hash of its content still does; and every name tells its content."""
    old = _DIGEST.search(members[place][0])
    replaced = [inside if at == place else content for at, (_, content) in enumerate(members)]
    if old is not None:
        new = hashlib.sha256(inside).hexdigest().encode()
        replaced = [content.replace(old[0].encode(), new) for content in replaced]
    return [
        (_DIGEST.sub(hashlib.sha256(content).hexdigest(), name), content)
        for (name, _), content in zip(members, replaced, strict=True)
    ]
