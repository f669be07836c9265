from pathlib import Path
from typing import Any

import pytest

from kb.cli.options import join_tags
from kb.cli.render.documents import show_document
from kb.cli.render.programs import show_running
from kb.cli.render.searching import show_hits
from kb.cli.render.status import show_status
from kb.cli.render.terminal import print_json
from kb.settings import EngineSettings, read_settings

HIT: dict[str, Any] = {
    "document_id": 12,
    "title": "Spare keys",
    "page_num": 3,
    "heading": "House > Doors",
    "tags": ["home"],
    "relevance": 0.834,
    "snippet": "…the **key** is under the **third pot**…",
}
NOTE: dict[str, Any] = {
    "id": 7,
    "title": "Keys",
    "doc_type": "note",
    "version": 2,
    "tags": [],
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": None,
    "source_path": None,
}
STATUS: dict[str, Any] = {
    "version": "3.0.0",
    "documents": {"total": 0, "by_type": {}},
    "chunks": 0,
    "size_bytes": 0,
    "queue": {"queued": 0, "running": 0, "failed": 0},
    "model": {"name": "m", "loaded": False},
    "storage": {"data_dir": "/data"},
    "health": {"status": "degraded", "issues": ["The worker is not running."]},
    "last_updated": None,
}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Has rich believe that it writes to a terminal."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    return monkeypatch


def answer(*hits: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"results": list(hits), "total": len(hits), **more}


def test_a_hit_tells_title_relevance_place_and_snippet(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer(HIT))

    title, place, snippet = capsys.readouterr().out.splitlines()
    assert title == " 1  Spare keys  0.83"
    assert place == "    document 12 · page 3 · House > Doors · tags: home"
    assert snippet == "    …the **key** is under the **third pot**…"


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_marked_words_are_styled_instead_of_starred(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer(HIT))

    shown = capsys.readouterr().out
    assert "\x1b[1;33mkey\x1b[0m" in shown
    assert "\x1b[1;33mthird pot\x1b[0m" in shown
    assert "**" not in shown


def test_no_color_leaves_no_colour(terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.setenv("NO_COLOR", "1")

    show_hits(answer(HIT))

    shown = capsys.readouterr().out
    assert "\x1b[1mkey\x1b[0m" in shown
    assert "33m" not in shown


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_a_long_snippet_is_folded_below_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer({**HIT, "snippet": "word " * 30}))

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 4
    assert all(line.startswith("    word") for line in lines[2:])


@pytest.mark.parametrize("text", ["\x1b]0;renamed\x07window", "\x9b2Jcleared", "[bold]not markup[/bold] :smile:"])
def test_a_document_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str], text: str) -> None:
    show_document({**NOTE, "title": text, "text": text})

    shown = capsys.readouterr().out
    assert not set(shown) & {"\x1b", "\x07", "\x9b"}
    assert text.translate({27: None, 7: None, 0x9B: None}) in shown


def test_a_suggestion_and_a_shortcoming_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer(suggestion="turquoise", degraded=True))

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Did you mean: turquoise" in captured.err
    assert "words only" in captured.err


def test_a_file_shows_its_chunks_under_their_places(capsys: pytest.CaptureFixture[str]) -> None:
    places = [(1, None), (1, None), (2, "Doors")]
    chunks = [{"text": f"part {i}", "page_num": p, "heading": h} for i, (p, h) in enumerate(places)]

    show_document({**NOTE, "doc_type": "pdf", "chunks": chunks})

    _, _, *text = capsys.readouterr().out.splitlines()
    assert [line for line in text if line] == ["page 1", "part 0", "part 1", "page 2 · Doors", "part 2"]


def test_json_is_one_line_and_keeps_every_script(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"title": "墨水\nink"})

    assert capsys.readouterr().out == '{"title": "墨水\\nink"}\n'


@pytest.mark.parametrize(
    ("size_bytes", "shown"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KB"), (5 * 1024**5, "5120.0 TB")]
)
def test_sizes_are_told_in_units_people_know(capsys: pytest.CaptureFixture[str], size_bytes: int, shown: str) -> None:
    show_status({**STATUS, "size_bytes": size_bytes})

    told = capsys.readouterr().out
    assert f"size       {shown}\n" in told
    assert "issue      The worker is not running.\n" in told


@pytest.mark.parametrize(("told", "times"), [({"access": "read"}, 1), ({"access": "write"}, 0), ({}, 0)])
def test_a_key_that_can_only_read_is_told_as_such(
    capsys: pytest.CaptureFixture[str], told: dict[str, str], times: int
) -> None:
    show_status({**STATUS, **told})

    assert capsys.readouterr().out.count("access     this key can only read\n") == times


def test_a_person_is_told_how_to_reach_what_was_started(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    settings = read_settings(EngineSettings, {"data_dir": tmp_path, "api_key": "hidden"}, {}, tmp_path)

    show_running(settings, "http://0.0.0.0:9000", "http://[::]:9001")

    told = capsys.readouterr().out
    assert "http://127.0.0.1:9000/api/v1" in told
    assert "export KB_ENGINE_URL=http://127.0.0.1:9000" in told
    assert "http://127.0.0.1:9001/mcp" in told
    assert "KB_API_KEY" in told
    assert "hidden" not in told


def test_tags_are_separated_trimmed_and_never_empty() -> None:
    assert join_tags(["a, b,,", "c"], ["d, e", ""]) == ["a", "b", "c", "d, e"]
    assert join_tags(None, None) == []
