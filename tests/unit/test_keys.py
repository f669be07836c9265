"""Keys: what a secret holds, and which of them is given."""

import ast
import re
import statistics
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from tests.amounts import IS_FULL

import kb
from kb.access import Access, KeyRing, KnownKey
from kb.settings import SettingsError, every_key, present_key, read_settings
from kb.settings.programs import EngineSettings, McpSettings

SOURCES = Path(kb.__file__).parent
TRIES = 20_000
# The words by which those modules call a key, or what is made of it.
SECRET = re.compile(r"^(\w+\.)*(\w*keys?|given|digest|one|presented|text|authorization)(\[.*\])?$|secret")

keys = st.text(alphabet=[chr(code) for code in range(ord("!"), ord("~") + 1)], min_size=1, max_size=20)
breaks = st.sampled_from(["\n", "\r\n", "\n\n", " \n", "\n\t"])


def ring(writing: tuple[str, ...], reading: tuple[str, ...] = ()) -> KeyRing:
    return KeyRing(Access(writing, reading, hosts=(), origins=()))


@given(st.lists(keys, min_size=1, max_size=4), breaks)
def test_a_secret_holds_a_key_on_each_line_and_the_first_is_sent(several: list[str], line_break: str) -> None:
    """E1."""
    secret = SecretStr(line_break.join(["", *several, ""]))

    assert every_key(secret) == tuple(several)
    assert present_key(secret) == several[0]


@pytest.mark.parametrize("nothing", ["", " ", "\n", " \r\n\t"])
def test_a_secret_of_white_space_holds_no_key(nothing: str) -> None:
    """E1."""
    assert every_key(SecretStr(nothing)) == ()
    assert present_key(SecretStr(nothing)) == ""


@given(st.lists(keys, min_size=2, max_size=6, unique=True), st.data())
def test_each_key_is_recognised_for_what_it_is_and_no_other_text_is(several: list[str], data: st.DataObject) -> None:
    """E1, M2."""
    middle = data.draw(st.integers(1, len(several) - 1))
    writing, reading = tuple(several[:middle]), tuple(several[middle:])
    known = ring(writing, reading)

    assert [known.recognise(key) for key in writing] == [KnownKey(can_write=True, number=n + 1) for n in range(middle)]
    assert [known.recognise(key) for key in reading] == [
        KnownKey(can_write=False, number=n + 1) for n in range(len(reading))
    ]
    other = data.draw(st.text(alphabet=st.characters(max_codepoint=255)).filter(lambda text: text not in several))
    assert known.recognise(other) is None


def test_a_key_beyond_ascii_is_recognised_as_it_comes_in_a_header() -> None:
    """E1: a header's bytes, shown as Latin-1."""
    assert ring(("s\u00e9same",)).recognise("s\u00e9same".encode().decode("latin-1"))


def test_without_a_writing_key_nobody_is_told_apart() -> None:
    """E1."""
    known = ring((), ("reading",))

    assert known.is_open
    assert known.recognise("reading") is None
    assert known.recognise("") is None


@pytest.mark.parametrize("program", [EngineSettings, McpSettings])
@pytest.mark.parametrize(
    ("writing", "reading"),
    [("a\nb", "c\nb"), ("a", "a"), ("a\n\nb", "\nb\n"), ("", "a\nb"), ("\n", "a")],
)
def test_a_key_that_should_only_read_is_none_of_those_that_write(
    tmp_path: Path, program: type[EngineSettings] | type[McpSettings], writing: str, reading: str
) -> None:
    """E1, M2."""
    prefix = "KB_API_KEY" if program is EngineSettings else "KB_MCP_API_KEY"

    with pytest.raises(SettingsError, match=f"{prefix}_READONLY"):
        read_settings(program, {"data_dir": tmp_path}, {prefix: writing, f"{prefix}_READONLY": reading}, tmp_path)


@pytest.mark.parametrize("key", ["one two", "good\none two", "k\u00e9y", "a\0b", "a\x1bb"])
def test_a_line_that_is_no_key_is_refused(tmp_path: Path, key: str) -> None:
    """E1: what looks like a sentence must not become several short keys."""
    with pytest.raises(SettingsError, match="KB_API_KEY cannot be used"):
        read_settings(EngineSettings, {"data_dir": tmp_path}, {"KB_API_KEY": key}, tmp_path)


@pytest.mark.parametrize("module", ["access.py", "engine/api/guard.py", "mcp/guard.py"])
def test_no_operator_compares_a_key(module: str) -> None:
    """E1: nor is one looked up. Whoever sees keys that are given leaves them to `hmac.compare_digest`."""
    tree = ast.parse((SOURCES / module).read_text(encoding="utf-8"))
    compared = [
        ast.unparse(side)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot)
        for side in (node.left, *node.comparators)
    ]

    assert [side for side in compared if SECRET.search(side)] == []


def test_keys_are_compared_in_one_place() -> None:
    """E1."""
    users = [path.name for path in SOURCES.rglob("*.py") if "compare_digest" in path.read_text(encoding="utf-8")]

    assert users == ["access.py"]


@pytest.mark.skipif(not IS_FULL, reason="takes some seconds, and a machine that is at rest")
def test_the_first_letter_of_a_key_cannot_be_told_by_the_time_it_takes() -> None:
    """E1: over so many tries, what differs is lost in what always differs."""
    key = "K" + "x" * 63
    known = ring((key, "k" * 64), ("r" * 64,))
    tried = {"right at first": "K" + "y" * 63, "wrong at first": "Z" + "x" * 63, "wrong at last": key[:-1] + "Z"}
    times: dict[str, list[int]] = {name: [] for name in tried}

    for _ in range(TRIES):
        for name, text in tried.items():
            begun = time.perf_counter_ns()
            known.recognise(text)
            times[name].append(time.perf_counter_ns() - begun)

    quartiles = {name: statistics.quantiles(spent, n=4) for name, spent in times.items()}
    for low, _, high in quartiles.values():
        assert all(low <= median <= high for _, median, _ in quartiles.values()), quartiles
