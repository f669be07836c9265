"""The `key: value` block that many Markdown files begin with.

Only the plain part of YAML that people write there is understood: scalars and lists of scalars, all kept
as text. A block with anything else is left where it is, as part of the document's text.
"""

import re
from dataclasses import dataclass, field

_BLOCK = re.compile(r"\A---[ \t]*\n(?P<lines>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r"(?P<key>[^\W\d][\w.-]*):(?:[ \t]+(?P<value>.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(?P<value>.*)")
# Longer than any that a person writes; what it says is kept with the document, and shown with every hit.
_LONGEST_BLOCK = 10_000
_NOT_PLAIN = tuple("|>{&*!%@`")


@dataclass(frozen=True)
class FrontMatter:
    end: int
    """Where the document's own text begins."""
    title: str | None
    metadata: dict[str, str | list[str]] = field(default_factory=dict)


def parse_front_matter(text: str) -> FrontMatter | None:
    """None if there is no such block, or it says more than this module understands."""
    block = _BLOCK.match(text, 0, _LONGEST_BLOCK)
    pairs = _parse_pairs(block["lines"]) if block else None
    if not block or not pairs:
        return None
    title = pairs.pop("title", None)
    tags = pairs.get("tags")
    if isinstance(tags, str):
        pairs["tags"] = [tag.strip() for tag in tags.split(",") if tag.strip()]
    return FrontMatter(
        end=block.end(),
        title=title if isinstance(title, str) and title else None,
        metadata={key: value for key, value in pairs.items() if value},
    )


def _parse_pairs(lines: str) -> dict[str, str | list[str]] | None:
    pairs: dict[str, str | list[str]] = {}
    items: list[str] | None = None
    for line in filter(None, map(str.rstrip, lines.split("\n"))):
        if line.lstrip().startswith("#"):
            continue
        pair, item = _PAIR.fullmatch(line), _ITEM.fullmatch(line)
        value = ((pair or item or {"value": ""})["value"] or "").strip()
        if value.startswith(_NOT_PLAIN):
            return None
        if pair and value:
            pairs[pair["key"]], items = _parse_value(value), None
        elif pair:
            pairs[pair["key"]] = items = []
        elif item and items is not None:
            items.append(_unquote(value))
        else:
            return None
    return pairs


def _parse_value(value: str) -> str | list[str]:
    if value.startswith("[") and value.endswith("]"):
        return [_unquote(item.strip()) for item in value[1:-1].split(",") if item.strip()]
    return _unquote(value)


def _unquote(value: str) -> str:
    is_quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value
