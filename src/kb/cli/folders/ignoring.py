"""Which files the `.gitignore` and `.kbignore` of a folder leave out, as git means them.

A pattern becomes a regular expression whose time is bounded by the length of the path times that of the pattern,
however hostile either is: wherever a star is followed by another, the earliest place at which what stands between
them matches is also the best, so it is taken for good (`(?>...)`) and never tried elsewhere.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_STAR, _SLASH = "*", "/"
_POSIX_CLASS = re.compile(r"\[:([^\]]{0,20}):\]")
_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t-\\r ",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


@dataclass(frozen=True)
class Rule:
    path: re.Pattern[str]
    """What it matches: a path below the folder of the rule, with slashes."""
    takes_back: bool
    for_folders_only: bool


@dataclass(frozen=True)
class Rules:
    """Those of one file of rules. `base` is the path of its folder, with a slash at its end, or nothing."""

    base: str
    rules: tuple[Rule, ...]
    any_of_them: re.Pattern[str]
    """Most paths match none, which it finds out faster than the rules one by one."""


def parse_rules(text: str, base: str) -> Rules:
    """The rules in a `.gitignore` or `.kbignore`. A line that makes no pattern matches nothing, as in git."""
    lines = text.removeprefix("\ufeff").split("\n")
    rules = tuple(rule for line in lines if (rule := _parse_line(line.removesuffix("\r"))) is not None)
    # Without rules it matches nothing at all.
    return Rules(base, rules, re.compile("|".join(rule.path.pattern for rule in rules) or r"(?!)", re.DOTALL))


def is_ignored(path: str, chain: Sequence[Rules], *, is_folder: bool) -> bool:
    """Whether the last rule that speaks of the path leaves it out. No folder above it may be ignored."""
    for rules in reversed(chain):
        below = path.removeprefix(rules.base)
        if not rules.any_of_them.fullmatch(below):
            continue
        for rule in reversed(rules.rules):
            if (is_folder or not rule.for_folders_only) and rule.path.fullmatch(below):
                return not rule.takes_back
    return False


def _parse_line(line: str) -> Rule | None:
    if not line or line.startswith("#"):
        return None
    line = _strip_end(line)
    pattern = line.removeprefix("!")
    takes_back = pattern != line
    for_folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    tokens = _tokenize(pattern)
    if tokens is None:
        return None
    if "/" not in pattern:
        # It speaks of names, wherever they are.
        expression = f"(?:.*/)?{_render_part(tokens)}"
    else:
        expression = _render_path(tokens[1:] if pattern.startswith("/") else tokens)
    return Rule(re.compile(expression, re.DOTALL), takes_back, for_folders_only)


def _strip_end(line: str) -> str:
    """Without the spaces at its end, except for one behind a backslash."""
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return line[: len(stripped) + backslashes % 2]


def _tokenize(pattern: str) -> list[str] | None:
    """The expressions for one character each, stars and slashes that it is made of; None if it can match nothing."""
    tokens, at = [], 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character in (_STAR, _SLASH):
            tokens.append(character)
        elif character == "?":
            tokens.append("[^/]")
        elif character == "[":
            found = _parse_class(pattern, at)
            if found is None:
                return None
            token, at = found
            tokens.append(token)
        elif character != "\\":
            tokens.append(re.escape(character))
        elif at == len(pattern):
            return None
        else:
            tokens.append(_SLASH if pattern[at] == "/" else re.escape(pattern[at]))
            at += 1
    return tokens


def _parse_class(pattern: str, at: int) -> tuple[str, int] | None:
    """The class that begins at this place, just behind its bracket, and where it ends; None if it does not."""
    is_negated = pattern[at : at + 1] in ("!", "^")
    first = at = at + is_negated
    members, previous = "", None
    while at < len(pattern):
        character = pattern[at]
        if character == "]" and at > first:
            members = f"[^/{members}]" if is_negated else f"(?!/)[{members}]" if members else "(?!)"
            return members, at + 1
        if posix := _POSIX_CLASS.match(pattern, at):
            if posix[1] not in _POSIX_CLASSES:
                return None
            members, previous, at = members + _POSIX_CLASSES[posix[1]], None, posix.end()
            continue
        if character == "-" and previous is not None and pattern[at + 1 : at + 2] not in ("", "]"):
            end, at = _read_member(pattern, at + 1)
            members += f"{re.escape(previous)}-{re.escape(end)}" if previous <= end else ""
            previous = None
            continue
        previous, at = _read_member(pattern, at)
        members += re.escape(previous)
    return None


def _read_member(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] == "\\" and at + 1 < len(pattern):
        at += 1
    return pattern[at], at + 1


def _render_path(tokens: list[str]) -> str:
    """Parts with slashes between them; two stars that are a part stand for any number of folders."""
    blocks: list[list[str]] = [[]]
    parts = list(_split(tokens, _SLASH))
    for part in parts:
        if len(part) > 1 and set(part) == {_STAR}:
            blocks.append([])
        else:
            blocks[-1].append(_render_part(part))
    if len(blocks) == 1:
        return "/".join(blocks[0])
    first, *middle, last = blocks
    expression = "".join(f"{part}/" for part in first)
    for block in middle:
        if block:
            expression += f"(?>(?:[^/]+/)*?{''.join(f'{part}/' for part in block)})"
    return expression + (f"(?:.*/)?{'/'.join(last)}" if last else ".*")


def _render_part(tokens: list[str]) -> str:
    first, *others = ("".join(run) for run in _split(tokens, _STAR))
    if not others:
        return first
    *middle, last = others
    return f"{first}{''.join(f'(?>[^/]*?{run})' for run in middle if run)}[^/]*{last}"


def _split(tokens: list[str], separator: str) -> Iterator[list[str]]:
    run: list[str] = []
    for token in tokens:
        if token == separator:
            yield run
            run = []
        else:
            run.append(token)
    yield run
