"""Lines of source code that define something with a name, in any of the usual languages.

What language a text is in is not known, and need not be: the words that begin a definition are much the same in all
of them, and a line that only looks like one costs no more than an odd heading.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_LINE_CHARACTERS = 400
"""No definition is longer; the line of a minified script is."""

_MAX_SIGNATURE_LINES = 12
# Possessive, as is all that could be cut short in many ways: each line is looked at once.
_NAME = r"[\w$]++(?:(?:::|[.~#-])[\w$]++)*+[!?]?"
_MODIFIERS = r"""
    (?: (?: export | default | declare | public | private | protected | internal | fileprivate | static | final
          | abstract | sealed | open | override | virtual | async | unsafe | const | inline | extern(?:\s+"[^"]*")?
          | pub(?:\([^()]*\))? | data | case | value | inner | companion | suspend | implicit | partial | readonly | ref
          | local | mutating | pure | elemental | recursive | @[\w.]++(?:\([^()]*+\))? ) \s++ )*
"""
# What follows the name of a thing; in prose it is another word.
_THEN = r"""
    (?= \s*+ (?: [({\[<:|] | $ | -> | => | //
          | (?: extends | implements | permits | where | for | with | is | as | do | begin | of | from )\b
          | [\w.*\[\]]++ \s*+ (?: \{ | $ ) ) )
"""
_BY_KEYWORD = re.compile(
    rf"""
    {_MODIFIERS}
    (?: (?: class | interface | struct | enum | union | trait | protocol | extension | namespace | module | mod
          | defmodule | record | contract | service | message | actor | instance | object(?!\s+\w+\() )
            \s+ (?: class \s+ )? (?P<type> {_NAME} ) {_THEN}
      | (?: def | defp | defmacro | fn | fun | function | sub | proc | procedure | method | subroutine )
            \s+ (?: & \s* )? (?: <[^<>]*> \s* )? (?P<function> {_NAME} )
            (?= \s* (?: [({{\[<:=] | $ | do\b | returns\b ) )
      | func \s+ (?: \( \s* (?:\w++\s++)? \*? (?P<receiver> \w++ ) [^()]*+ \) \s* )?
            (?P<func> {_NAME} ) (?= \s* [(<\[] )
      | (?: type | typealias | newtype | input ) \s+ (?P<alias> {_NAME} ) (?: (?= [^=;{{}}]* = ) | {_THEN} )
      | impl (?: <[^{{]*?> )? \s+ (?P<impl> [\w$] [^{{]* )
      | (?: const | let | var ) \s+ (?P<arrow> {_NAME} ) \s* = \s* (?: async \s* )?
            (?: function\b | \( (?: [^=()]*+ [()] )*+ (?<=\)) [^=()]*+ => | \w+ \s* => | \( $ )
    )
    """,
    re.VERBOSE,
)
_BY_SHAPE = re.compile(
    rf"""
      (?: exports\. | module\.exports\. | this\. )? (?P<assigned> {_NAME} ) \s* (?: = | <- | : ) \s* (?: async \s+ )?
            function \b
    | \( (?: defn-? | defun | defmacro | define | defclass | defmethod | deftype | defrecord | ns ) \s+
            \(? (?P<lisp> [^\s()]+ )
    | [-+] \s* \( [\w\s*<>]+ \) \s* (?P<message> \w+ )
    | \\ (?: part | chapter | (?:sub){{0,2}}section ) \*? \{{ (?P<chapter> [^{{}}]+ ) \}}
    | (?i: create \s+ (?: or \s+ replace \s+ )?
            (?: (?: temp | temporary | unique | materialized | virtual | unlogged | external | recursive ) \s+ )*
            (?: table | view | index | function | procedure | trigger | type | schema | sequence | policy | domain ) \s+
            (?: if \s+ not \s+ exists \s+ | concurrently \s+ )? (?P<sql> [\w."`$\[\]]+ ) )
    """,
    re.VERBOSE,
)
_BRACED = re.compile(r"(?P<before>(?:[\w<>\[\],.:*&?@$]+\s+)*)[*&]*(?P<name>~?[\w:$.~]+)\s*\(")
_NOT_NAMES = re.compile(
    r"""
    \b(?: if | else | elif | for | foreach | while | until | unless | switch | case | when | catch | return | do | try
       | with | using | lock | match | guard | new | throw | await | yield | assert | synchronized | defer | go | select
       | and | or | not | in | func | function | fn | lambda )\b
    """,
    re.VERBOSE,
)
_BODY = re.compile(r"\{|(?:throws|where|noexcept)\b|:(?!:)")
_TABLE_HEADER = re.compile(r"\[{1,2}(?P<name>[^\[\]]++)\]{1,2}\s*(?:[#;].*)?$")


@dataclass(frozen=True)
class Definition:
    name: str
    is_type: bool = False
    """Whether what stands in it are its members."""
    goes_on: bool = False
    """Whether it lasts until the next one, however its lines are indented."""


def find_definition(lines: Sequence[str], number: int, parent: Definition | None) -> Definition | None:
    """What the line defines inside of `parent`, if anything.

    The lines are stripped; those after it may be the rest of its signature.
    """
    line = lines[number][:MAX_LINE_CHARACTERS]
    found = _BY_KEYWORD.match(line) or _BY_SHAPE.match(line)
    if found is None:
        return _find_braced(lines, number, parent)
    named = {group: name.strip() for group, name in found.groupdict().items() if name}
    is_type = "type" in named or "impl" in named
    return Definition(".".join(named.values()), is_type, goes_on="sql" in named or "chapter" in named)


def find_table_header(lines: Sequence[str], number: int, _parent: Definition | None) -> Definition | None:
    """`[name]`, the heading of INI and TOML; in other languages it means something else."""
    found = _TABLE_HEADER.match(lines[number][:MAX_LINE_CHARACTERS])
    return Definition(found["name"].strip(), goes_on=True) if found else None


def _find_braced(lines: Sequence[str], number: int, parent: Definition | None) -> Definition | None:
    """`int main(void) {`, `close() {` in a class or a shell: a name, whole brackets, and then a brace."""
    line = lines[number][:MAX_LINE_CHARACTERS]
    # Most lines are plain statements, and this is the quickest way to tell.
    if "(" not in line or (line.endswith(";") and "{" not in line):
        return None
    found = _BRACED.match(line)
    if found is None or _NOT_NAMES.search(found[0]):
        return None
    signature = line[found.end() - 1 :]
    following = lines[number + 1 : number + 1 + _MAX_SIGNATURE_LINES]
    is_member = parent is not None and parent.is_type
    # A bare name is a member, a function of a shell, or has its type on the line above; else it is called.
    may_be_bare = is_member or signature.startswith("()") or "{" in following
    if not (found["before"] or may_be_bare):
        return None
    return Definition(found["name"]) if _opens_body(signature, following) else None


def _opens_body(signature: str, following: Sequence[str]) -> bool:
    depth = 0
    for line, next_line in zip([signature, *following], [*following, ""], strict=True):
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            after = line.rpartition(")")[2]
            is_whole = not after.endswith((";", ",", "="))
            return "{" in after or (is_whole and _BODY.match(next_line) is not None)
        if line.endswith(("{", ";")):
            return False
    return False
