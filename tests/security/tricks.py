"""Ways to come in without the key of a program, each a name and what it makes of an honest request that has none."""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

from tests.security.surfaces import Door, Program
from tests.security.wire import Header, request_to

Trick = Callable[[Door], bytes]
WEBSOCKET: tuple[Header, ...] = (
    ("Upgrade", "websocket"),
    # Whoever answers in HTTP after all has to hang up, so that the end of the answer is seen.
    ("Connection", "Upgrade, close"),
    ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
    ("Sec-WebSocket-Version", "13"),
)


def authorization(value: Callable[[Program], str]) -> Trick:
    return headers(lambda program: [("Authorization", value(program))])


def headers(more: Callable[[Program], list[Header]]) -> Trick:
    return lambda door: door.request(*more(door.program)).encode()


def fixed(*more: Header) -> Trick:
    return headers(lambda program: [*more])


def path(spell: Callable[[str], str]) -> Trick:
    return lambda door: replace(door.request(), target=spell(door.path)).encode()


def public_path(spell: Callable[[str, str], str]) -> Trick:
    """Of an address that begins with one that is open to everybody."""
    return lambda door: replace(door.request(), target=spell(door.program.public_path, door.path)).encode()


def query(parameter: str) -> Trick:
    return lambda door: replace(door.request(), target=f"{door.path}?{parameter}={door.program.key}").encode()


def method(name: str) -> Trick:
    return lambda door: replace(door.request(), method=name).encode()


def version(name: str, *without: str) -> Trick:
    return lambda door: replace(door.request().less(*without), version=name).encode()


def websocket(*more: Header, key: Callable[[Program], list[Header]] = lambda program: []) -> Trick:
    return lambda door: (
        request_to(door.program.address, "GET", door.path)
        .less("Connection")
        .plus(*WEBSOCKET, *more, *key(door.program))
        .encode()
    )


def protocol(name: Callable[[Program], str]) -> Trick:
    return websocket(key=lambda program: [("Sec-WebSocket-Protocol", f"mcp, {name(program)}")])


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def raw(write: Callable[[Door, bytes], bytes]) -> Trick:
    """Made of the honest request as it is on the wire."""
    return lambda door: write(door, door.request().encode())


def with_line(line: Callable[[Program], str]) -> Trick:
    """A line of the head that is no header as it should be; it stands first."""

    def write(door: Door, sent: bytes) -> bytes:
        first, rest = sent.split(b"\r\n", 1)
        return first + b"\r\n" + line(door.program).encode("latin-1") + b"\r\n" + rest

    return raw(write)


def hidden_behind(*framing: Header, prefix: bytes = b"", body_less_by: int | None = None) -> Trick:
    """Behind a public request whose length can be read in two ways; then one that has the server hang up."""

    def write(door: Door, sent: bytes) -> bytes:
        program = door.program
        length = [] if body_less_by is None else [("Content-Length", str(len(prefix + sent) - body_less_by))]
        carrier = request_to(program.address, "GET", program.public_path, *framing, *length).less("Connection")
        return carrier.encode() + prefix + sent + _goodbye(program)

    return raw(write)


def after_the_right_key(door: Door) -> bytes:
    """On the connection of somebody who was let in."""
    program = door.program
    first = request_to(program.address, "GET", "/api/v1/nothing", ("Authorization", f"Bearer {program.key}"))
    return first.less("Connection").encode() + door.request().encode()


def _goodbye(program: Program) -> bytes:
    return request_to(program.address, "GET", program.public_path).encode()


def in_trailer(door: Door) -> bytes:
    request = replace(door.request().less("Content-Length"), body=b"")
    chunk = b"%x\r\n%s\r\n" % (len(door.body), door.body) if door.body else b""
    trailer = f"0\r\nAuthorization: Bearer {door.program.key}\r\n\r\n".encode()
    return request.plus(("Transfer-Encoding", "chunked"), ("Trailer", "Authorization")).encode() + chunk + trailer


def in_form(door: Door) -> bytes:
    form = f"access_token={door.program.key}&api_key={door.program.key}".encode()
    typed = (("Content-Type", "application/x-www-form-urlencoded"),)
    return request_to(door.program.address, door.method, door.path, *typed, body=form).encode()


def absolute(door: Door, *, user: str = "") -> bytes:
    return replace(door.request(), target=f"http://{user}{door.program.address}{door.path}").encode()


def at_public_path(*names: str) -> Trick:
    """Asks for what is public, and names in a header what is meant."""

    def write(door: Door) -> bytes:
        meant = tuple((name, door.path) for name in names)
        return replace(door.request(), target=door.program.public_path).plus(*meant).encode()

    return write


_KEYS: dict[str, Trick] = {
    "no key": fixed(),
    "an empty header": fixed(("Authorization", "")),
    "a scheme without a key": fixed(("Authorization", "Bearer")),
    "a scheme and a space": fixed(("Authorization", "Bearer ")),
    "a wrong key": fixed(("Authorization", "Bearer Canary-Wrong")),
    "bytes that are no text": fixed(("Authorization", "Bearer \xff\xfe\x80")),
    "half of the key": authorization(lambda to: f"Bearer {to.key[: len(to.key) // 2]}"),
    "the key less its last letter": authorization(lambda to: f"Bearer {to.key[:-1]}"),
    "the key and one letter": authorization(lambda to: f"Bearer {to.key}x"),
    "the key and a zero byte": authorization(lambda to: f"Bearer {to.key}\0"),
    "the key and a carriage return": authorization(lambda to: f"Bearer {to.key}\rx"),
    "the key and a line": authorization(lambda to: f"Bearer {to.key}\r\n x"),
    "the key in the other case": authorization(lambda to: f"Bearer {to.key.swapcase()}"),
    "two keys that are both right": authorization(lambda to: f"Bearer {to.key} {to.previous_key}"),
    "two keys with a line between": authorization(lambda to: f"Bearer {to.key}\r\n {to.previous_key}"),
    "the key of the other program": authorization(lambda to: f"Bearer {to.foreign_key}"),
    "the key's digest": authorization(lambda to: f"Bearer {hashlib.sha256(to.key.encode()).hexdigest()}"),
    "the key in base64": authorization(lambda to: f"Bearer {encoded(to.key)}"),
    "the key in percents": authorization(lambda to: f"Bearer %{to.key.encode().hex('%')}"),
    "the key in quotes": authorization(lambda to: f'Bearer "{to.key}"'),
    "the key without a scheme": authorization(lambda to: to.key),
    "the key behind a colon": authorization(lambda to: f"Bearer: {to.key}"),
    "the key behind two spaces": authorization(lambda to: f"Bearer  {to.key}"),
    "the key behind a tab": authorization(lambda to: f"Bearer\t{to.key}"),
    "the key as a password": authorization(lambda to: f"Basic {encoded(f'kb:{to.key}')}"),
    "the key as a user": authorization(lambda to: f"Basic {encoded(f'{to.key}:')}"),
    "the key of another scheme": authorization(lambda to: f"Token {to.key}"),
    "the right header, then a wrong one": headers(
        lambda to: [("Authorization", f"Bearer {to.key}"), ("Authorization", "Bearer wrong")]
    ),
    "a wrong header, then the right one": headers(
        lambda to: [("Authorization", "Bearer wrong"), ("Authorization", f"Bearer {to.key}")]
    ),
    "the right header twice": headers(lambda to: [("Authorization", f"Bearer {to.key}")] * 2),
    "right and wrong with a comma": authorization(lambda to: f"Bearer {to.key}, Bearer wrong"),
    "wrong and right with a comma": authorization(lambda to: f"Bearer wrong, Bearer {to.key}"),
}

_PLACES: dict[str, Trick] = {
    "the key in the query, as api_key": query("api_key"),
    "the key in the query, as access_token": query("access_token"),
    "the key in the query, as token": query("token"),
    "the key in the query, as Authorization": query("Authorization"),
    "the key in a cookie": headers(lambda to: [("Cookie", f"Authorization=Bearer {to.key}; key={to.key}")]),
    "the key in a form": in_form,
    "the key in X-API-Key": headers(lambda to: [("X-API-Key", to.key), ("Api-Key", to.key)]),
    "the key for a proxy": headers(lambda to: [("Proxy-Authorization", f"Bearer {to.key}")]),
    "the key as a proxy forwards it": headers(lambda to: [("X-Forwarded-Authorization", f"Bearer {to.key}")]),
    "the key in a trailer": in_trailer,
    "the key in a folded line of another header": headers(
        lambda to: [("X-Note", f"a\r\n Authorization: Bearer {to.key}")]
    ),
    "the key in a header with a space before its colon": with_line(lambda to: f"Authorization : Bearer {to.key}"),
    "the key in a header with a zero byte in its name": with_line(lambda to: f"Authorization\0: Bearer {to.key}"),
    "the key in a header with an underscore": with_line(lambda to: f"HTTP_Authorization: Bearer {to.key}"),
    "the key in the first line of the head, indented": with_line(lambda to: f" Authorization: Bearer {to.key}"),
    "the key as a user of the address": lambda door: absolute(door, user=f"kb:{door.program.key}@"),
    "the key among protocols, without a WebSocket": headers(
        lambda to: [("Sec-WebSocket-Protocol", f"mcp, bearer.{to.key}")]
    ),
}

_PATHS: dict[str, Trick] = {
    "two slashes": path(lambda one: f"/{one}"),
    "a dot": path(lambda one: f"/.{one}"),
    "a step up": path(lambda one: f"/x/..{one}"),
    "a step up from what is public": public_path(lambda public, one: f"{public}/..{one}"),
    "steps up from what is public, encoded": public_path(lambda public, one: f"{public}/%2e%2e/%2e%2e{one}"),
    "steps up with encoded slashes": public_path(lambda public, one: f"{public}/..%2f..{one.replace('/', '%2f')}"),
    "encoded slashes": path(lambda one: f"/{quote(one[1:], safe='')}"),
    "backslashes": path(lambda one: one.replace("/", "\\")),
    "an encoded letter": path(lambda one: f"/%{one[1:2].encode().hex()}{one[2:]}"),
    "a letter encoded twice": path(lambda one: f"/%25{one[1:2].encode().hex()}{one[2:]}"),
    "an overlong slash": path(lambda one: f"/x%c0%af..%c0%af{one[1:]}"),
    "a parameter of the path": path(lambda one: f"{one};x"),
    "a slash at the end": path(lambda one: f"{one}/"),
    "a dot at the end": path(lambda one: f"{one}/."),
    "an ending": path(lambda one: f"{one}.css"),
    "capitals": path(str.upper),
    "a zero byte": path(lambda one: f"{one}\0"),
    "an encoded zero byte": path(lambda one: f"{one}%00"),
    "an encoded space": path(lambda one: f"{one}%20"),
    "an encoded line": path(lambda one: f"{one}%0d%0aAuthorization:x"),
    "what is public, behind it": public_path(lambda public, one: f"{one}{public}"),
    "what is public, in the query": public_path(lambda public, one: f"{one}?{public}"),
    "what is public, in the fragment": public_path(lambda public, one: f"{one}#{public}"),
    "what is public, before a zero byte": public_path(lambda public, one: f"{public}%00{one}"),
    "the absolute form": absolute,
    "the absolute form of another host": path(lambda one: f"http://localhost{one}"),
    "no slash": path(lambda one: one[1:]),
    "the form of a star": path(lambda one: "*"),
}

_LIES: dict[str, Trick] = {
    "another path in X-Original-URL": at_public_path("X-Original-URL", "X-Rewrite-URL"),
    "a public path in X-Original-URL": headers(
        lambda to: [("X-Original-URL", to.public_path), ("X-Rewrite-URL", to.public_path)]
    ),
    "another path in X-Forwarded-Path": at_public_path("X-Forwarded-Path", "X-Forwarded-Uri"),
    "a prefix of a proxy": headers(
        lambda to: [("X-Forwarded-Prefix", to.public_path), ("X-Script-Name", to.public_path)]
    ),
    "from this machine": fixed(
        ("X-Forwarded-For", "127.0.0.1"), ("X-Real-IP", "127.0.0.1"), ("Forwarded", "for=127.0.0.1;proto=https")
    ),
    "for this machine": fixed(("X-Forwarded-Host", "localhost"), ("X-Forwarded-Proto", "https")),
    "somebody whom a proxy knows": fixed(("X-Forwarded-User", "admin"), ("Remote-User", "admin"), ("X-User", "admin")),
    "another method in a header": fixed(("X-HTTP-Method-Override", "GET"), ("X-HTTP-Method", "GET")),
    "a page of our own": headers(
        lambda to: [("Origin", f"http://{to.address}"), ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "cors")]
    ),
    "an address that somebody typed": fixed(("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "navigate")),
    "a page that asks first": headers(
        lambda to: [
            ("Origin", f"http://{to.address}"),
            ("Access-Control-Request-Method", "GET"),
            ("Access-Control-Request-Headers", "authorization"),
        ]
    ),
    "a client that waits to be told to go on": fixed(("Expect", "100-continue")),
    "a session": fixed(("Mcp-Session-Id", "0" * 32), ("Mcp-Protocol-Version", "2025-06-18")),
    "the newest protocol": fixed(("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", "ping")),
    **{
        f"the method {name}": method(name)
        for name in ("HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "PURGE", "LETMEIN", "get", "GET", "POST")
    },
}

_TRANSPORTS: dict[str, Trick] = {
    "HTTP/1.0": version("HTTP/1.0"),
    "HTTP/1.0 without a host": version("HTTP/1.0", "Host"),
    "HTTP/1.1 without a host": version("HTTP/1.1", "Host"),
    "HTTP/1.2": version("HTTP/1.2"),
    "HTTP/2.0": version("HTTP/2.0"),
    "HTTP/0.9": lambda door: f"GET {door.path}\r\n\r\n".encode(),
    "the preface of HTTP/2": raw(lambda door, sent: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + sent),
    "two hosts": headers(lambda to: [("Host", "localhost")]),
    "bare line feeds": raw(lambda door, sent: sent.replace(b"\r\n", b"\n")),
    "an upgrade to HTTP/2": lambda door: (
        door.request(("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABkAAQAAP__"))
        .plus(("Connection", "Upgrade, HTTP2-Settings"))
        .encode()
    ),
    "a WebSocket": websocket(),
    "a WebSocket with a wrong key": websocket(("Authorization", "Bearer wrong")),
    "a WebSocket with the key in a cookie": websocket(key=lambda to: [("Cookie", f"key={to.key}")]),
    "a WebSocket with the key of the other program": protocol(lambda to: f"bearer.{to.foreign_key}"),
    "a WebSocket with an empty key": protocol(lambda to: "bearer."),
    "a WebSocket with a wrong key in its protocols": protocol(lambda to: f"bearer.{encoded('wrong')}"),
    "a WebSocket with the key as its protocol": protocol(lambda to: to.key),
    "a WebSocket with half of the key": protocol(lambda to: f"bearer.{to.key[:8]}"),
    "a WebSocket with a wrong header and the right protocol": websocket(
        ("Authorization", "Bearer wrong"), key=lambda to: [("Sec-WebSocket-Protocol", f"mcp, bearer.{to.key}")]
    ),
}

_SMUGGLING: dict[str, Trick] = {
    "behind somebody who was let in": after_the_right_key,
    "behind what is public": hidden_behind(),
    "both a length and chunks": hidden_behind(("Transfer-Encoding", "chunked"), prefix=b"0\r\n\r\n", body_less_by=0),
    "chunks and a length of nothing": hidden_behind(
        ("Content-Length", "0"), ("Transfer-Encoding", "chunked"), prefix=b"0\r\n\r\n"
    ),
    "two lengths": hidden_behind(("Content-Length", "0"), body_less_by=0),
    "two lengths in one header": hidden_behind(("Content-Length", "0, 10")),
    "a length with a sign": hidden_behind(("Content-Length", "+0")),
    "a length below nothing": hidden_behind(("Content-Length", "-1")),
    "a length in another base": hidden_behind(("Content-Length", "0x0")),
    "a length that is too short": hidden_behind(prefix=b"x", body_less_by=1),
    "a length in a name with a space": hidden_behind(("Content-Length ", "0"), body_less_by=0),
    "chunks in other letters": hidden_behind(("Transfer-Encoding", "CHUNKED"), prefix=b"0\r\n\r\n"),
    "chunks that are none": hidden_behind(("Transfer-Encoding", "xchunked"), prefix=b"0\r\n\r\n"),
    "chunks and nothing": hidden_behind(("Transfer-Encoding", "chunked, identity"), prefix=b"0\r\n\r\n"),
    "chunks twice": hidden_behind(
        ("Transfer-Encoding", "identity"), ("Transfer-Encoding", "chunked"), prefix=b"0\r\n\r\n"
    ),
    "chunks behind a tab": hidden_behind(("Transfer-Encoding", "\x0bchunked"), prefix=b"0\r\n\r\n"),
    "chunks with an extension": hidden_behind(("Transfer-Encoding", "chunked"), prefix=b"0;a=\n\r\n\r\n"),
    "chunks with a size that is none": hidden_behind(("Transfer-Encoding", "chunked"), prefix=b"0x0\r\n\r\n"),
    "chunks in an older protocol": raw(
        lambda door, sent: (
            replace(
                request_to(door.program.address, "GET", door.program.public_path, ("Transfer-Encoding", "chunked")),
                version="HTTP/1.0",
            ).encode()
            + b"0\r\n\r\n"
            + sent
        )
    ),
}

TRICKS: dict[str, Trick] = {**_KEYS, **_PLACES, **_PATHS, **_LIES, **_TRANSPORTS, **_SMUGGLING}


def sent_path(sent: bytes) -> str:
    """As it stands in the first line."""
    return sent.split(b" ", 2)[1].partition(b"?")[0].decode("latin-1")
