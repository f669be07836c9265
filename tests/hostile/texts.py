"""Texts that make parsers recurse, backtrack or copy without end: RTF, mail, CSV, JSON, code, Markdown, plain text."""

from collections.abc import Callable, Iterator
from functools import partial

from tests.amounts import amount
from tests.hostile.containers import MEGABYTE
from tests.hostile.hostile_file import CORRUPT, LIMIT, NO_TEXT, READ, HostileFile, hostile, noise

TEXT_EXTENSIONS = ("txt", "md", "csv", "json", "py", "html", "svg", "rtf", "eml")
REPEATED = {
    "letter": b"a",
    "space": b" ",
    "hash": b"#",
    "bracket": b"[",
    "less-than": b"<",
    "double-quote": b'"',
    "single-quote": b"'",
    "backtick": b"`",
    "brace": b"{",
    "parenthesis": b"(",
    "backslash": b"\\",
    "asterisk": b"*",
    "underscore": b"_",
    "bar": b"|",
    "comma": b",",
    "hyphen": b"-",
    "equals": b"=",
    "ampersand": b"&",
    "line-end": b"\n",
    "carriage-return": b"\r",
    "tab": b"\t",
    "colon": b": ",
    "quotation": b"> ",
    "umlaut": "ä".encode(),
    "accents": "e\u0301\u0323".encode(),
    "old-umlaut": b"\xe4",
}
# So many that a reader that looks at all of them once more for each is noticed.
_MANY = amount(selection=20_000, full=100_000)
_REPEATED_MEGABYTES = amount(selection=3, full=10)
_LONG_TABLES = {"one-line-of-50-MB", "one-cell-of-50-MB", "a-quote-unclosed"}
# A blank file is not even a damaged one of these.
_WITHOUT_MARKUP = {"rtf": (CORRUPT,), "svg": (CORRUPT,)}
_BLANKS = {"space", "line-end", "carriage-return", "tab"}


def hostile_texts() -> Iterator[HostileFile]:
    yield from _repetitions()
    yield from _in_rtf()
    yield from _in_mail()
    yield from _in_tables()
    yield from _in_json()
    yield from _in_code_and_markdown()
    yield from _without_content()


def _repetitions() -> Iterator[HostileFile]:
    """Megabytes of one thing, as each format that is text."""
    for extension in TEXT_EXTENSIONS:
        for place, (name, unit) in enumerate(REPEATED.items()):
            # The selection takes each format once, with something else each time.
            is_left_out = place != 2 * TEXT_EXTENSIONS.index(extension)
            ends = (NO_TEXT, *_WITHOUT_MARKUP.get(extension, ()))
            if name not in _BLANKS:
                # Nothing but markup is no text.
                ends += (READ, CORRUPT, LIMIT)
            yield hostile(
                f"{_REPEATED_MEGABYTES}-MB-of-{name}.{extension}", partial(_repeat, unit), *ends, is_slow=is_left_out
            )


def _repeat(unit: bytes) -> bytes:
    return unit * (_REPEATED_MEGABYTES * MEGABYTE // len(unit))


def _in_rtf() -> Iterator[HostileFile]:
    cases: dict[str, Callable[[], bytes]] = {
        "groups-in-groups": lambda: b"{" * 100_000 + b"word" + b"}" * 100_000,
        "groups-unclosed": lambda: b"{" * 100_000 + b"word",
        "groups-overclosed": lambda: b"word" + b"}" * 100_000 + b"word",
        "binary-without-end": lambda: b"word \\bin99999999999999999999 word",
        "binary-of-less-than-nothing": lambda: b"word \\bin-5 word",
        "numbers-without-end": lambda: b"word \\fs" + b"9" * 1_000_000 + b" word",
        "letters-beyond-unicode": lambda: b"word \\u99999999?\\u-99999999?\\u55296?",
        "a-long-control-word": lambda: b"word \\" + b"a" * 1_000_000,
        "escapes": lambda: b"word " + b"\\'e4" * 10 * _MANY,
        "fallbacks-without-end": lambda: b"word \\uc1000000000 \\u228 word",
        "a-picture": lambda: b"word {\\pict " + b"00" * 5_000_000 + b"}",
        "rows-without-end": lambda: b"word " + b"\\trowd\\cell\\row" * 2 * _MANY,
        "a-font-table-without-end": lambda: b"{\\fonttbl" + b"{\\f1 a;}" * 200_000 + b"}word",
    }
    for name, make in cases.items():
        yield hostile(f"{name}.rtf", partial(_rtf, make), READ, LIMIT)
    yield hostile("a-head-alone.rtf", lambda: b"{\\rtf1", NO_TEXT, CORRUPT)


def _rtf(make_body: Callable[[], bytes]) -> bytes:
    return b"{\\rtf1\\ansi " + make_body() + b"}"


def _in_mail() -> Iterator[HostileFile]:
    head = b"From: one@example.org\nTo: two@example.org\nSubject: word\nMIME-Version: 1.0\n"
    words = b"=?utf-8?q?a?= "
    cases: dict[str, Callable[[], bytes]] = {
        "parts-in-parts": lambda: head + _nested_parts(1_000) + b"word\n",
        "mails-in-mails": lambda: head + b"Content-Type: message/rfc822\n\n" * 1_000 + b"Subject: word\n\nword\n",
        "parts-without-end": lambda: (
            head + b'Content-Type: multipart/mixed; boundary="b"\n\n' + b"--b\n\nword\n" * (_MANY // 2) + b"--b--"
        ),
        "a-boundary-of-nothing": lambda: (
            head + b'Content-Type: multipart/mixed; boundary=""\n\n' + b"--\n" * 100_000 + b"word"
        ),
        "no-boundary": lambda: head + b"Content-Type: multipart/mixed\n\nword",
        "headers-without-end": lambda: head + b"X-Word: word\n" * 100_000 + b"\nword",
        "a-header-of-megabytes": lambda: head + b"X-Word: " + b"a" * 5 * MEGABYTE + b"\n\nword",
        "a-folded-header": lambda: head + b"X-Word: a\n" + b" a\n" * 200_000 + b"\nword",
        "words-encoded-in-the-subject": lambda: b"Subject: " + words * 50_000 + b"\nFrom: one@example.org\n\nword",
        "words-encoded-in-an-address": lambda: (
            b"From: " + words * 20_000 + b"<one@example.org>\nTo: two@example.org\n\nword"
        ),
        "addresses-without-end": lambda: head + b"Cc: " + b"a@example.org, " * 50_000 + b"\n\nword",
        "comments-in-an-address": lambda: b"From: " + b"(" * 50_000 + b"one@example.org\nTo: two@example.org\n\nword",
        "angles-in-an-address": lambda: b"From: " + b"<" * 50_000 + b"one@example.org\nTo: two@example.org\n\nword",
        "quotes-in-an-address": lambda: b'From: "' + b'\\"' * 50_000 + b"one@example.org\nTo: two@example.org\n\nword",
        "groups-of-addresses": lambda: b"From: one@example.org\nTo: " + b"a:" * 50_000 + b"\n\nword",
        "parameters-without-end": lambda: (
            head + b"Content-Type: text/plain" + b"; a*0*=utf-8''x" * 20_000 + b"\n\nword"
        ),
        "a-name-whole-and-in-pieces": lambda: (
            head + b"Content-Disposition: inline; filename*0=\"a\"; FileName*1*=b; filename*=utf-8''ab\n\nword"
        ),
        "a-charset-whole-and-in-pieces": lambda: (
            head + b"Content-Type: text/plain; charset*=utf-8''utf-8; charset*0=x\n\nword"
        ),
        "a-boundary-whole-and-in-pieces": lambda: (
            head + b"Content-Type: multipart/mixed; boundary*=''b; boundary*0=c\n\n--b\n\nword\n--b--"
        ),
        "a-date-that-is-none": lambda: head + b"Date: " + b"1" * 100_000 + b"\n\nword",
        "an-id-of-brackets": lambda: head + b"Message-ID: " + b"[" * 50_000 + b"\n\nword",
        "an-unknown-charset": lambda: head + b"Content-Type: text/plain; charset=" + b"x" * 1_000 + b"\n\nword",
        "a-charset-of-no-letters": lambda: head + b"Content-Type: text/plain; charset=\xff\n\nword \xe4",
        "a-charset-with-a-language": lambda: head + b"Content-Type: text/plain; charset*=utf-8'en'utf-8\n\nword \xe4",
        "a-charset-for-names-of-hosts": lambda: head + b"Content-Type: text/plain; charset=idna\n\nword \xe4",
        "base-64-of-noise": lambda: head + b"Content-Transfer-Encoding: base64\n\n" + b"A!" * 1_000_000,
        "printable-escapes": lambda: head + b"Content-Transfer-Encoding: quoted-printable\n\nword " + b"=" * MEGABYTE,
        "an-attachment-named-to-climb": lambda: (
            head + b'Content-Disposition: attachment; filename="../../../../tmp/kb-was-here"\n\nx'
        ),
        "deep-html": lambda: head + b"Content-Type: text/html\n\n<p>word" + b"<div>" * 50_000,
    }
    for name, make in cases.items():
        yield hostile(f"{name}.eml", make, READ, LIMIT)


def _nested_parts(depth: int) -> bytes:
    part = b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n'
    return b"".join(part % (level, level) for level in range(depth)) + b"Content-Type: text/plain\n\n"


def _in_tables() -> Iterator[HostileFile]:
    cases: dict[str, Callable[[], bytes]] = {
        "one-line-of-50-MB": lambda: b"word," * (10 * MEGABYTE),
        "one-cell-of-50-MB": lambda: b"word " * (10 * MEGABYTE),
        "a-quote-unclosed": lambda: b'a,b\n1,"' + b"word\n" * (2 * MEGABYTE),
        "quotes-doubled": lambda: b'a,"' + b'""' * (5 * MEGABYTE) + b'"',
        "a-million-columns": lambda: b",".join(b"c%d" % number for number in range(1_000_000)) + b"\n1,2\n",
        "a-header-of-megabytes-for-many-rows": lambda: (
            b",".join(b"c%d" % number for number in range(500_000))
            + b"\n"
            + (b"1," * 400_000 + b"1\n")
            + b"1,2\n" * 3 * _MANY
        ),
        "rows-of-all-lengths": lambda: (
            b"a\n" + b"".join(b"x" + b"," * (number % 500) + b"\n" for number in range(20_000))
        ),
        "delimiters-of-every-kind": lambda: b"a,b;c\td|e\n" * 2 * _MANY,
        "nothing-but-delimiters": lambda: b",;\t|\n" * 2 * _MANY,
    }
    for name, make in cases.items():
        ends = (NO_TEXT, READ) if name.startswith("nothing") else (READ, LIMIT)
        yield hostile(f"{name}.csv", make, *ends, is_slow=name in _LONG_TABLES)


def _in_json() -> Iterator[HostileFile]:
    cases: dict[str, Callable[[], bytes]] = {
        "arrays-in-arrays": lambda: b"[" * 100_000 + b'"word"' + b"]" * 100_000,
        "objects-in-objects": lambda: b'{"a":' * 100_000 + b'"word"' + b"}" * 100_000,
        "arrays-unclosed": lambda: b'["word",' * 100_000,
        "a-number-of-megabytes": lambda: b'["word", ' + b"9" * 5 * MEGABYTE + b"]",
        "a-number-beyond-numbers": lambda: b'["word", 1e999999999, -1e999999999, 1e-999999999, NaN, Infinity]',
        "a-string-unclosed": lambda: b'["word", "' + b"a" * 5 * MEGABYTE,
        "escapes": lambda: b'["word", "' + b"\\u0000\\ud800\\n" * 200_000 + b'"]',
        "one-key-again-and-again": lambda: b"{" + b'"word": 1, ' * 200_000 + b'"word": 2}',
        "a-key-of-megabytes": lambda: b'{"' + b"a" * 2 * MEGABYTE + b'": {"word": [1, 2, 3]}}',
        "deep-and-wide": lambda: b'{"word": ' * 500 + b"[" + b"1," * 50_000 + b"1]" + b"}" * 500,
    }
    for name, make in cases.items():
        yield hostile(f"{name}.json", make, READ, LIMIT, CORRUPT)
    yield hostile("lines-that-are-none.jsonl", lambda: b'{"word": 1}\n' + b"[\n" * 200_000, READ, CORRUPT)


def _in_code_and_markdown() -> Iterator[HostileFile]:
    cases: dict[str, Callable[[], bytes]] = {
        "parentheses.py": lambda: b"word = " + b"(" * 100_000 + b")" * 100_000,
        "operators.py": lambda: b"word = " + b"-" * 100_000 + b"1",
        "attributes.py": lambda: b"word" + b".a" * 100_000,
        "definitions-in-definitions.py": lambda: b"".join(b" " * level + b"def word():\n" for level in range(2_000)),
        "definitions-without-end.py": lambda: b"def word():\n    pass\n" * _MANY,
        "a-string-unclosed.py": lambda: b'word = """' + b"a" * 5 * MEGABYTE,
        "decorators.py": lambda: b"@word\n" * 2 * _MANY,
        "links-in-links.md": lambda: b"word " + b"[" * 100_000 + b"](" * 100_000,
        "headings-of-nothing.md": lambda: b"word\n\n" + b"#\n" * _MANY,
        "headings-underlined.md": lambda: b"word\n---\n" * 2 * _MANY,
        "fences-unclosed.md": lambda: b"word\n" + b"```\n" * 200_001,
        "fences-of-all-lengths.md": lambda: b"word\n" + b"".join(b"`" * length + b"\n" for length in range(3, 3_000)),
        "front-matter-unclosed.md": lambda: b"---\n" + b"word: a\n" * 500_000,
        "front-matter-of-aliases.md": lambda: b"---\na: &a [x]\n" + b"b: [*a, *a, *a]\n" * 50_000 + b"---\nword",
        "front-matter-of-brackets.md": lambda: b"---\ntags: " + b"[" * 500_000 + b"\n---\nword",
        "a-table.md": lambda: b"word\n" + b"|a" * 50_000 + b"\n" + b"|-" * 50_000,
        "combining-marks.txt": lambda: b"word " + "\u0301".encode() * 1_000_000,
        "right-to-left.txt": lambda: b"word " + "\u202e\u2066".encode() * 1_000_000,
        "no-characters.txt": lambda: b"word " + "\ufffe\uffff\ufdd0".encode() * 500_000,
        "surrogates.txt": lambda: b"word " + b"\xed\xa0\x80" * 500_000,
        "overlong.txt": lambda: b"word " + b"\xc0\xaf" * 500_000,
        "utf-16-cut.txt": lambda: b"\xff\xfe" + "word ".encode("utf-16-le") + b"\x00\xd8" * 500_000 + b"a",
        "utf-32-beyond.txt": lambda: b"\xff\xfe\x00\x00" + "word ".encode("utf-32-le") + b"\xff\xff\xff\x7f" * 200_000,
        "escapes-of-a-terminal.txt": lambda: b"word " + b"\x1b[31m\x07" * 200_000,
    }
    for name, make in cases.items():
        yield hostile(name, make, READ)
    high = bytes(byte | 0x80 for byte in noise(100_000))
    yield hostile("noise-without-zeros.txt", lambda: high, READ, CORRUPT)


def _without_content() -> Iterator[HostileFile]:
    for extension in ("pdf", "docx", "xlsx", "odt", "epub", *TEXT_EXTENSIONS):
        yield hostile(f"blank.{extension}", lambda: b" \n\t\r\n", *_NOTHING)
        yield hostile(f"one-byte.{extension}", lambda: b"<", READ, *_NOTHING)
        yield hostile(f"zeros.{extension}", lambda: bytes(100_000), *_NOTHING)
        yield hostile(f"mark-alone.{extension}", lambda: b"\xef\xbb\xbf", *_NOTHING)


_NOTHING = (NO_TEXT, CORRUPT, "unsupported_format")
