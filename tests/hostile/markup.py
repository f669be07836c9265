"""XML and HTML that grow when they are read, reach outside, or nest without end."""

from collections.abc import Callable, Iterator
from functools import partial

from tests.amounts import amount
from tests.hostile.containers import CONTAINERS, MEGABYTE
from tests.hostile.hostile_file import CORRUPT, LIMIT, NO_TEXT, READ, HostileFile, hostile

FOREIGN_FILE = "/etc/passwd"
"""Entities and pictures point to it, and no reader opens it."""
FOREIGN_TEXT = "root:"
"""Stands in that file, and so in no document that is read."""

_LAUGHS = b"".join(b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 10) for level in range(1, 10))
_DOCTYPES = {
    "billion-laughs": b'<!DOCTYPE x [<!ENTITY e0 "laugh">' + _LAUGHS + b'<!ENTITY harm "&e9;">]>',
    "long-entity": b'<!DOCTYPE x [<!ENTITY long "'
    + b"a" * 50_000
    + b'"><!ENTITY harm "'
    + b"&long;" * 50_000
    + b'">]>',
    "entity-of-itself": b'<!DOCTYPE x [<!ENTITY harm "&harm;">]>',
    "entity-in-a-file": b'<!DOCTYPE x [<!ENTITY harm SYSTEM "file:///etc/passwd">]>',
    "entity-on-the-network": b'<!DOCTYPE x [<!ENTITY harm SYSTEM "http://127.0.0.1:9/harm">]>',
    "parameter-entity": b'<!DOCTYPE x [<!ENTITY % out SYSTEM "file:///etc/passwd"> %out;<!ENTITY harm "x">]>',
    "outer-subset": b'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/harm.dtd" [<!ENTITY harm "x">]>',
}
# An entity may be left out or refused; what it stands for is never read.
_ENDS = (READ, LIMIT, CORRUPT, NO_TEXT)
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" %s>'
_DEEP = 100_000


def hostile_markup() -> Iterator[HostileFile]:
    for name, doctype in _DOCTYPES.items():
        yield from _with_doctype(name, doctype)
    yield from _nested()
    yield from _in_svg()
    yield from _in_html()


def _with_doctype(name: str, doctype: bytes) -> Iterator[HostileFile]:
    for extension, container in CONTAINERS.items():
        paragraph = container.paragraph
        body = paragraph % b"before" + paragraph % b"&harm;" + paragraph % b"after"
        yield hostile(f"{name}.{extension}", partial(container.document, body, doctype), *_ENDS)
    svg = b"<text>before</text><text>&harm;</text><text>after</text></svg>"
    yield hostile(f"{name}.svg", lambda: b'<?xml version="1.0"?>' + doctype + _SVG % b"" + svg, *_ENDS)
    html = b"<html><body><p>before</p><p>&harm;</p><p>after</p></body></html>"
    yield hostile(f"{name}.html", lambda: doctype + html, READ)
    yield hostile(f"{name}.xhtml", lambda: b'<?xml version="1.0"?>' + doctype + html, *_ENDS)


def _nested() -> Iterator[HostileFile]:
    for extension, container in CONTAINERS.items():
        body = b"<x>" * _DEEP + container.paragraph % b"word" + b"</x>" * _DEEP
        yield hostile(f"nested.{extension}", partial(container.document, body), LIMIT, READ)
    group = b"<g>" * _DEEP + b"<text>word</text>" + b"</g>" * _DEEP
    yield hostile("nested.svg", lambda: _SVG % b"" + group + b"</svg>", LIMIT, READ)
    for tag in (b"div", b"b", b"ul><li", b"table><tr><td", b"blockquote", b"font"):
        for depth in (300, 20_000, _DEEP):
            yield hostile(
                f"nested-{tag.decode().replace('><', '-')}-{depth}.html",
                partial(_nested_html, tag, depth),
                *([READ] if depth < 1000 else [READ, LIMIT]),
                is_slow=depth == _DEEP and tag != b"div",
            )


def _nested_html(tag: bytes, depth: int) -> bytes:
    return b"<html><body><p>before</p>" + b"<%s>" % tag * depth + b"within</body></html>"


def _in_svg() -> Iterator[HostileFile]:
    uses = b"".join(b'<g id="u%d">%s</g>' % (i, b'<use xlink:href="#u%d"/>' % (i - 1) * 10) for i in range(1, 12))
    cases = {
        "use-bomb": b'<g id="u0"><text>word</text></g>' + uses,
        "use-of-itself": b'<g id="u"><text>word</text><use xlink:href="#u"/></g>',
        "foreign-pictures": (
            b'<text>word</text><image xlink:href="file:///etc/passwd"/><image href="http://127.0.0.1:9/x"/>'
        ),
        "included-file": (
            b'<text>word</text><include xmlns="http://www.w3.org/2001/XInclude" href="/etc/passwd" parse="text"/>'
        ),
        "a-style-from-afar": b'<style>@import url("http://127.0.0.1:9/x");</style><text>word</text>',
    }
    for name, body in cases.items():
        yield hostile(f"{name}.svg", partial(_svg, body), READ)
    huge = _SVG % b'width="1000000000" height="1000000000"' + b"<text>word</text></svg>"
    yield hostile("a-billion-wide.svg", lambda: huge, READ)
    sheet = b'<?xml-stylesheet type="text/xsl" href="http://127.0.0.1:9/x"?>' + _SVG % b"" + b"<text>word</text></svg>"
    yield hostile("a-stylesheet-from-afar.svg", lambda: sheet, READ)


def _svg(body: bytes) -> bytes:
    return _SVG % b"" + body + b"</svg>"


def _in_html() -> Iterator[HostileFile]:
    foreign = (
        b'<base href="http://127.0.0.1:9/"><link rel="stylesheet" href="x.css"><iframe src="file:///etc/passwd">'
        b'</iframe><script src="x.js"></script><img src="x">'
        b'<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/"><p>word'
    )
    cases: dict[str, Callable[[], bytes]] = {
        "reaches-outside": lambda: foreign,
        "cells-that-span-all": lambda: b'<p>word<table><tr><td colspan="1000000000" rowspan="1000000000">a</table>',
        "cells-that-span-much": lambda: (
            b"<p>word<table>" + b'<tr><td colspan="1000" rowspan="1000">a<td>b' * 10_000 + b"</table>"
        ),
        "attributes-without-end": lambda: b"<p>word<a " + b"a=b " * 500_000 + b">x</a>",
        "one-long-attribute": lambda: b'<p>word<a title="' + b"a" * 10 * MEGABYTE + b'">x</a>',
        "comments-unclosed": lambda: b"<p>word" + b"<!--" * 500_000,
        "tags-unclosed": lambda: b"<p>word" + b"<a" * 2_000_000,
        "tags-without-number": lambda: b"<p>word" + b"<br>" * amount(selection=200_000, full=1_000_000),
        "ends-without-beginnings": lambda: b"<p>word" + b"</div>" * 1_000_000,
        "formatting-misnested": lambda: b"<p>word" + b"<b><i><p></b></i>" * 20_000,
        "a-script-unclosed": lambda: b"<p>word<script>" + b"</" * 1_000_000,
        "a-title-of-megabytes": lambda: b"<title>" + b"word " * 500_000 + b"</title><p>word",
        "references": lambda: b"<p>word " + b"&amp" * 1_000_000 + b"&#x110000;&#0;&#xD800;&#99999999999999999999;",
        "charset-that-is-none": lambda: b'<meta charset="rot13"><p>word',
        "charset-of-host-names": lambda: b'<meta charset="idna"><p>word',
        "charset-that-takes-its-time": lambda: (
            b'<meta charset="punycode"><p>word ' + b"a" * MEGABYTE + b"-" + b"9a" * MEGABYTE
        ),
        "charset-utf-7": lambda: b'<meta charset="utf-7"><p>word +ADw-script+AD4-',
        "lists-of-lists": lambda: b"<p>word" + b"<ul><li>a" * 5_000,
        "headings-without-end": lambda: b"<p>word" + b"<h1>a</h1><h6>b</h6>" * amount(selection=20_000, full=100_000),
    }
    for name, make_body in cases.items():
        yield hostile(f"{name}.html", partial(_html, make_body), READ, LIMIT)


def _html(make_body: Callable[[], bytes]) -> bytes:
    return b"<!DOCTYPE html><html><body>" + make_body()
