"""Which engines the clients speak to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.version import VERSION, is_supported, version_in


@pytest.mark.parametrize("version", [VERSION, "3.0.1rc1", "3.10.0", "12.0", "9" * 5000])
def test_this_version_and_newer_ones_are_supported(version: str) -> None:
    """E26"""
    assert is_supported(version)


@pytest.mark.parametrize("version", ["2.9.9", "2.11.4", "0.99.99", "soon", ""])
def test_older_ones_and_what_names_no_version_are_not(version: str) -> None:
    """E26"""
    assert not is_supported(version)


def test_the_version_stands_in_the_servers_header() -> None:
    assert version_in("kb/3.0.1rc1 (linux)") == "3.0.1rc1"
    assert version_in("nginx/1.27") is None
    assert version_in("kb/") is None


@given(st.text())
def test_whatever_is_told_a_version_can_be_shown_on_a_line(told: str) -> None:
    version = version_in(f"kb/{told}")

    assert version is None or version.isprintable()
    is_supported(told)
