import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from kb.cli.options import join_tags
from kb.cli.render.documents import show_document, show_documents
from kb.cli.render.programs import show_running
from kb.cli.render.searching import remark_on_hits, show_hits
from kb.cli.render.status import show_status
from kb.cli.render.terminal import local_time, print_json
from kb.settings import EngineSettings, read_settings

HIT: dict[str, Any] = {
    "document_id": 12,
    "title": "Spare keys",
    "source_path": None,
    "format": "pdf",
    "page_num": 3,
    "heading": "House > Doors",
    "tags": ["home"],
    "relevance": 0.834,
    "snippet": "…the **key** is under the **third pot**…",
    "text": "Mind the monkey.\n\nThe Key is under the third\npot.",
    "scores": {"fts": 4.5678, "vector": None},
}
NOTE: dict[str, Any] = {
    "id": 7,
    "title": "Keys",
    "doc_type": "note",
    "format": "note",
    "size_bytes": 2048,
    "version": 2,
    "tags": [],
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": None,
    "source_path": None,
}
STATUS: dict[str, Any] = {
    "version": "3.0.0",
    "schema_version": 4,
    "device": "cpu",
    "vectors": 0,
    "documents": {"total": 0, "by_type": {}},
    "chunks": 0,
    "size_bytes": 0,
    "queue": {"queued": 0, "running": 0, "failed": 0},
    "model": {"name": "m", "loaded": False},
    "storage": {"data_dir": "/data", "database": "sqlite"},
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
    show_hits(answer(HIT), open_engine=None)

    title, place, snippet = capsys.readouterr().out.splitlines()
    assert title == " 1  Spare keys  0.83"
    assert place == "    document 12 · page 3 · House > Doors · tags: home"
    assert snippet == "    …the **key** is under the **third pot**…"


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_marked_words_are_styled_instead_of_starred(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer(HIT), open_engine=None)

    shown = capsys.readouterr().out
    assert "\x1b[1;33mkey\x1b[0m" in shown
    assert "\x1b[1;33mthird pot\x1b[0m" in shown
    assert "**" not in shown


def test_no_color_leaves_no_colour(terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.setenv("NO_COLOR", "1")

    show_hits(answer(HIT), open_engine=None)

    shown = capsys.readouterr().out
    assert "\x1b[1mkey\x1b[0m" in shown
    assert "33m" not in shown


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_a_long_snippet_is_folded_below_its_title(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer({**HIT, "snippet": "word " * 30}), open_engine=None)

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 4
    assert all(line.startswith("    word") for line in lines[2:])


@pytest.mark.parametrize("text", ["\x1b]0;renamed\x07window", "\x9b2Jcleared", "[bold]not markup[/bold] :smile:"])
def test_a_document_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str], text: str) -> None:
    show_document({**NOTE, "title": text, "text": text}, open_engine=None)

    shown = capsys.readouterr().out
    assert not set(shown) & {"\x1b", "\x07", "\x9b"}
    assert text.translate({27: None, 7: None, 0x9B: None}) in shown


def test_a_suggestion_and_a_shortcoming_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    remark_on_hits(answer(degraded=True), more=None, suggested="kb search turquoise")

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Did you mean: kb search turquoise\n" in captured.err
    assert "words only" in captured.err


def test_ranks_go_on_from_page_to_page(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer(HIT, HIT), first=11, open_engine=None)

    titles = [line for line in capsys.readouterr().out.splitlines() if "Spare keys" in line]
    assert titles == ["11  Spare keys  0.83", "12  Spare keys  0.83"]


@pytest.mark.parametrize(("format", "shown"), [("pdf", "page 3"), ("pptx", "slide 3"), ("xlsx", "sheet 3")])
def test_a_page_is_called_what_it_is(capsys: pytest.CaptureFixture[str], format: str, shown: str) -> None:
    show_hits(answer({**HIT, "format": format}), open_engine=None)

    assert f"document 12 · {shown} · House > Doors" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({"fts": 4.5678, "vector": None}, "found by its words (bm25 4.57)"),
        ({"fts": None, "vector": 0.5}, "found by its meaning (cosine 0.50)"),
        ({"fts": 1.0, "vector": 0.25}, "found by its words (bm25 1.00) and by its meaning (cosine 0.25)"),
    ],
)
def test_why_it_was_found_is_told_with_both_scores(
    capsys: pytest.CaptureFixture[str], scores: dict[str, float], told: str
) -> None:
    show_hits(answer({**HIT, "scores": scores}), why=True, open_engine=None)

    assert f"    {told}\n" in capsys.readouterr().out


def test_the_whole_text_has_its_lines_and_the_words_of_the_snippet_marked(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer(HIT), full=True, open_engine=None)

    _, _, *text = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in text] == ["Mind the monkey.", "", "The **Key** is under the **third", "pot**."]


def test_in_a_script_without_spaces_words_are_marked_inside_others(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer({**HIT, "snippet": "…**鑰匙**…", "text": "備用鑰匙在花盆下"}), full=True, open_engine=None)

    assert "備用**鑰匙**在花盆下" in capsys.readouterr().out


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("source_path", [None, __file__])
def test_title_links_to_the_engine_and_not_to_a_local_file(
    capsys: pytest.CaptureFixture[str], source_path: str | None
) -> None:
    """C6: the author of a hostile document chose its path."""
    show_hits(answer({**HIT, "source_path": source_path}), open_engine="http://engine:8000/")

    shown = capsys.readouterr().out
    assert ";http://engine:8000/api/v1/documents/12/file\x1b\\" in shown
    assert "file://" not in shown


@pytest.mark.usefixtures("terminal")
def test_a_title_is_no_link_where_the_engine_wants_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer(HIT), open_engine=None)

    assert "\x1b]8" not in capsys.readouterr().out


def test_in_a_pipe_a_title_is_no_link(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits(answer(HIT), open_engine="http://engine:8000")

    assert "\x1b" not in capsys.readouterr().out


@given(
    titles=st.lists(st.text(max_size=80), min_size=1, max_size=4),
    tags=st.lists(st.text(max_size=40), max_size=3),
    columns=st.integers(80, 200),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_has_a_line_for_each_document_and_none_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], titles: list[str], tags: list[str], columns: int
) -> None:
    documents = [{**NOTE, "title": title, "tags": tags, "created_at": "2026-01-01T00:00:00.5Z"} for title in titles]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTY_COMPATIBLE", "1")
        patch.setenv("NO_COLOR", "1")
        patch.setenv("COLUMNS", str(columns))
        show_documents({"documents": documents, "total": len(documents)}, open_engine=None)

    lines = capsys.readouterr().out.split("\n")[:-1]
    plain = [re.sub(r"\x1b\[\d*m", "", line) for line in lines]
    assert len(plain) == len(titles) + 1
    assert max(map(cell_len, plain)) <= columns


@given(titles=st.lists(st.text(), max_size=4), tags=st.lists(st.text(), max_size=3))
@example(titles=["a\tb\nc"], tags=["d\te"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_a_pipe_each_document_is_a_line_of_seven_cells(
    capsys: pytest.CaptureFixture[str], titles: list[str], tags: list[str]
) -> None:
    documents = [{**NOTE, "title": title, "tags": tags} for title in titles]

    show_documents({"documents": documents, "total": len(documents)}, open_engine=None)

    lines = capsys.readouterr().out.split("\n")[:-1]
    assert [len(line.split("\t")) for line in lines] == [7] * len(titles)


def test_times_are_those_of_the_clock_on_the_wall(terminal: pytest.MonkeyPatch) -> None:
    terminal.setenv("TZ", "Asia/Tokyo")
    time.tzset()

    shown = local_time("2026-11-16T14:03:59.123456Z")

    terminal.undo()
    time.tzset()
    assert shown == "2026-11-16 23:03"


def test_a_file_shows_its_chunks_under_their_places(capsys: pytest.CaptureFixture[str]) -> None:
    places = [(1, None), (1, None), (2, "Doors")]
    chunks = [{"text": f"part {i}", "page_num": p, "heading": h} for i, (p, h) in enumerate(places)]

    show_document({**NOTE, "doc_type": "pdf", "format": "pdf", "chunks": chunks}, open_engine=None)

    _, _, *text = capsys.readouterr().out.splitlines()
    assert [line for line in text if line] == ["page 1", "part 0", "part 1", "page 2 · Doors", "part 2"]


def test_json_is_one_line_and_keeps_every_script(capsys: pytest.CaptureFixture[str]) -> None:
    """C6"""
    script = "墨水 \u0645\u06cc\u200c\u062e\u0648 \u05e9\u05d9\u05e8 \U0001f469\u200d\U0001f4bb"

    print_json({"title": f"{script}\nink"})

    assert capsys.readouterr().out == f'{{"title": "{script}\\nink"}}\n'


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
