"""Addresses as they are seen from the machine itself."""

import pytest

from kb.cli.probing import Answer, address_at, reachable


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:3000"),
        ("0.0.0.0", "http://127.0.0.1:3000"),  # noqa: S104  only a value here
        ("::", "http://127.0.0.1:3000"),
        ("::1", "http://[::1]:3000"),
        ("kb.example", "http://kb.example:3000"),
    ],
)
def test_what_listens_everywhere_is_called_on_the_machine_itself(host: str, url: str) -> None:
    assert address_at(host, 3000) == url


def test_an_address_that_only_looks_like_everywhere_is_left_as_it_is() -> None:
    assert reachable("http://0.0.0.0.example/x") == "http://0.0.0.0.example/x"
    assert reachable("http://0.0.0.0/x") == "http://127.0.0.1/x"


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000])
def test_what_is_not_json_is_none(body: bytes) -> None:
    assert Answer(200, "", body).json is None
