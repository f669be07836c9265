import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

from kb.cli.drafts import open_draft

MakeEditor = Callable[[str], str]

# What another person does while the note is in the editor.
SOMEBODY_ELSE = """
import json, urllib.request

def send(method, path, body):
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/api/v1/{path}", data, {"Content-Type": "application/json"}, method=method)
    urllib.request.urlopen(request).close()
"""


@pytest.fixture(autouse=True)
def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which drafts are made, and stay if they are kept."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    folder = tmp_path / "drafts"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def editor(tmp_path: Path, running_engine: EngineProgram) -> MakeEditor:
    """Makes an editor of some lines of Python, which find the file as `draft`: the command that starts it."""
    count = 0

    def make(lines: str) -> str:
        nonlocal count
        count += 1
        program = tmp_path / f"an editor {count}.py"
        given = f"import pathlib, sys\ndraft = pathlib.Path(sys.argv[-1])\nurl = {running_engine.url!r}\n"
        program.write_text(f"{given}{lines}\n")
        return f"'{sys.executable}' -I '{program}'"

    return make


@pytest.fixture
def note_id(kb: Kb) -> str:
    return str(json.loads(kb("addnote", "The harbour seal sleeps", "--json").stdout)["document_id"])


def read_note(kb: Kb, note_id: str) -> tuple[str, int]:
    note = json.loads(kb("get", note_id, "--json").stdout)
    return note["text"], note["version"]


def kept_texts(drafts: Path) -> list[str]:
    return [path.read_text(errors="replace") for path in sorted(drafts.rglob("*.md"))]


def test_c1_a_note_is_edited_in_a_private_file_that_is_gone_afterwards(
    kb: Kb, note_id: str, editor: MakeEditor, drafts: Path, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    look = f"""
modes = [oct(path.stat().st_mode & 0o777) for path in (draft, draft.parent)]
pathlib.Path({str(seen)!r}).write_text(repr([draft.suffix, draft.read_text(), *modes]))
draft.write_text("The harbour seal wakes\\n")
"""

    result = kb("edit", note_id, EDITOR=editor(look))

    note = json.loads(kb("get", note_id, "--json").stdout)
    assert result.exit_code == 0
    assert "version 2" in result.stdout
    assert (note["text"], note["title"], note["version"]) == ("The harbour seal wakes",) * 2 + (2,)
    assert seen.read_text() == repr([".md", "The harbour seal sleeps\n", "0o600", "0o700"])
    assert kept_texts(drafts) == []


def test_the_answer_is_the_engines_json_whatever_the_editor_writes(
    running_engine: EngineProgram, note_id: str, editor: MakeEditor
) -> None:
    """C2"""
    noisy = editor('print("\\x1b[2Jnoise", flush=True); draft.write_text("The seal swims")')

    result = running_engine.run_kb("edit", note_id, "--json", settings={"VISUAL": noisy, "EDITOR": "false"})

    assert json.loads(result.stdout)["text"] == "The seal swims"
    assert "noise" in result.stderr


@pytest.mark.parametrize(
    ("lines", "exit_code", "told"),
    [
        ("draft.write_text('The harbour seal sleeps')", 0, "is unchanged"),
        ("draft.write_text(' \\n')", 1, "cannot be empty"),
        ("draft.unlink()", 1, "cannot be empty"),
        ("sys.exit(3)", 1, "exit code 3"),
    ],
)
def test_where_there_is_nothing_to_save_nothing_is_sent_or_kept(
    kb: Kb, note_id: str, editor: MakeEditor, drafts: Path, lines: str, exit_code: int, told: str
) -> None:
    result = kb("edit", note_id, EDITOR=editor(lines))

    assert result.exit_code == exit_code
    assert result.stdout == ""
    assert told in result.stderr
    assert read_note(kb, note_id) == ("The harbour seal sleeps", 1)
    assert list(drafts.iterdir()) == []


def test_a_file_that_an_editor_may_still_have_open_stays(
    kb: Kb, note_id: str, editor: MakeEditor, drafts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long this machine takes to start one.
    monkeypatch.setattr("kb.cli.drafts.AT_ONCE_SECONDS", 60.0)

    result = kb("edit", note_id, EDITOR=editor("pass"))

    assert result.exit_code == 0
    assert "is unchanged" in result.stderr
    assert str(next(drafts.rglob("*.md"))) in result.stderr
    assert kept_texts(drafts) == ["The harbour seal sleeps\n"]


@pytest.mark.parametrize(
    ("lines", "exit_code"),
    [
        ("draft.write_text('typed in vain'); sys.exit(1)", 1),
        ("draft.write_bytes(b'typed in \\xff vain')", 1),
        ("draft.write_text('typed in vain'); import os, signal; os.kill(os.getpid(), signal.SIGINT)", 130),
    ],
)
def test_what_was_typed_is_kept_when_the_editor_fails(
    kb: Kb, note_id: str, editor: MakeEditor, drafts: Path, lines: str, exit_code: int
) -> None:
    result = kb("edit", note_id, EDITOR=editor(lines))

    assert result.exit_code == exit_code
    assert "vain" in kept_texts(drafts)[0]
    assert f"kept in {drafts}" in result.stderr
    assert read_note(kb, note_id) == ("The harbour seal sleeps", 1)


@pytest.mark.parametrize(("choice", "exit_code"), [({"EDITOR": "no-such-editor"}, 1), ({}, 2)])
def test_without_an_editor_it_says_what_to_set(kb: Kb, note_id: str, choice: dict[str, str], exit_code: int) -> None:
    result = kb("edit", note_id, **choice)

    assert result.exit_code == exit_code
    assert "Set EDITOR" in result.stderr


def test_a_file_is_not_edited_and_a_missing_note_not_found(kb: Kb, editor: MakeEditor) -> None:
    """C3"""
    file_id = json.loads(kb("add", "-", "--json", stdin="A file about seals").stdout)["document_id"]

    refused, missing = (kb("edit", one, EDITOR=editor("raise SystemExit(9)")) for one in (str(file_id), "999999"))

    assert (refused.exit_code, missing.exit_code) == (4, 3)
    assert "kb add" in refused.stderr


def test_with_nobody_to_ask_a_changed_note_is_not_overwritten(
    kb: Kb, note_id: str, editor: MakeEditor, drafts: Path
) -> None:
    """E17"""
    late = f"{SOMEBODY_ELSE}\nsend('PATCH', 'notes/{note_id}', {{'text': 'theirs'}})\ndraft.write_text('mine')"

    result = kb("edit", note_id, EDITOR=editor(late))

    assert result.exit_code == 4
    assert "version 2" in result.stderr
    assert (kept_texts(drafts), read_note(kb, note_id)) == (["mine"], ("theirs", 2))


def test_tags_that_change_meanwhile_are_no_conflict(kb: Kb, note_id: str, editor: MakeEditor) -> None:
    tags = f"{SOMEBODY_ELSE}\nsend('PUT', 'documents/{note_id}/tags', {{'tags': ['sea']}})\ndraft.write_text('mine')"

    result = kb("edit", note_id, EDITOR=editor(tags))

    note = json.loads(kb("get", note_id, "--json").stdout)
    assert result.exit_code == 0
    assert (note["text"], note["tags"], note["version"]) == ("mine", ["sea"], 3)


def test_the_same_text_from_somebody_else_is_enough(kb: Kb, note_id: str, editor: MakeEditor, drafts: Path) -> None:
    same = f"{SOMEBODY_ELSE}\nsend('PATCH', 'notes/{note_id}', {{'text': 'same'}})\ndraft.write_text('same')"

    result = kb("edit", note_id, EDITOR=editor(same))

    assert (result.exit_code, read_note(kb, note_id)) == (0, ("same", 2))
    assert list(drafts.iterdir()) == []


@pytest.mark.parametrize(("status", "exit_code"), [(413, 4), (401, 5), (404, 3), (500, 1), (None, 6)])
def test_what_was_typed_is_kept_when_it_cannot_be_saved(
    kb: Kb, editor: MakeEditor, drafts: Path, status: int | None, exit_code: int
) -> None:
    """C3"""

    def refuse(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        if method == "GET":
            return 200, {"id": 7, "text": "old", "title": "old", "version": 1}
        return None if status is None else (status, {"code": "some_code", "detail": "No."})

    with scripted_engine(refuse) as url:
        result = kb("edit", "7", EDITOR=editor("draft.write_text('an hour of work')"), KB_ENGINE_URL=url)

    assert result.exit_code == exit_code
    assert kept_texts(drafts) == ["an hour of work"]
    assert str(next(drafts.rglob("*.md"))) in result.stderr


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff")))
def test_a_text_that_nobody_changed_comes_back_as_it_was(text: str) -> None:
    with open_draft("note.md", text) as draft:
        untouched, is_new = draft.read(), draft.has_new_text()
        # Some editors end the last line, others leave it as it was.
        draft.path.write_bytes(text.encode())

        assert (untouched, is_new, draft.read()) == (text, False, text)


@pytest.fixture
def at_terminal(running_engine: EngineProgram, drafts: Path, tmp_path: Path) -> Callable[..., OnTerminal]:
    def start(*arguments: str, editor: str) -> OnTerminal:
        settings = {"KB_ENGINE_URL": running_engine.url, "EDITOR": editor, "TMPDIR": str(drafts)}
        return OnTerminal(*arguments, environment=own_environment(tmp_path, settings))

    return start


def overtaken_editor(note_id: str) -> str:
    """Somebody else is faster the first time; the second time both texts are put together."""
    return f"""{SOMEBODY_ELSE}
theirs = draft.with_stem(draft.stem + "-theirs")
if theirs.exists():
    draft.write_text(draft.read_text() + " and " + theirs.read_text())
else:
    send("PATCH", "notes/{note_id}", {{"text": "theirs"}})
    draft.write_text("mine")
"""


@pytest.mark.parametrize(
    ("answer", "exit_code", "text", "kept"),
    [
        ("e\n", 0, "mine and theirs", []),
        ("overwrite\n", 0, "mine", []),
        ("what?\nk\n", 4, "theirs", ["mine"]),
        ("\x03\n", 130, "theirs", ["mine"]),
    ],
)
def test_on_a_terminal_the_person_sees_the_other_change_and_decides(
    kb: Kb,
    note_id: str,
    editor: MakeEditor,
    at_terminal: Callable[..., OnTerminal],
    drafts: Path,
    answer: str,
    exit_code: int,
    text: str,
    kept: list[str],
) -> None:
    with at_terminal("edit", note_id, editor=editor(overtaken_editor(note_id))) as terminal:
        terminal.wait_for("[k]eep")
        terminal.type(answer)
        code = terminal.wait()

    assert "\x1b[31m-The harbour seal sleeps" in terminal.output
    assert "\x1b[32m+theirs" in terminal.output
    assert "Traceback" not in terminal.output
    assert (code, read_note(kb, note_id)[0], kept_texts(drafts)) == (exit_code, text, kept)


def test_who_only_looks_at_the_other_text_has_not_decided(
    kb: Kb, note_id: str, editor: MakeEditor, at_terminal: Callable[..., OnTerminal], drafts: Path
) -> None:
    looking = overtaken_editor(note_id).replace("draft.write_text(draft.read_text()", "print(draft.read_text()")

    with at_terminal("edit", note_id, editor=editor(looking)) as terminal:
        terminal.wait_for("[k]eep")
        terminal.type("e\nk\n")
        code = terminal.wait()

    assert (code, read_note(kb, note_id)[0]) == (4, "theirs")
    assert "mine" in kept_texts(drafts)


def test_in_the_editor_ctrl_c_is_a_key_like_others(
    kb: Kb, note_id: str, editor: MakeEditor, at_terminal: Callable[..., OnTerminal]
) -> None:
    patient = """
import signal
signal.signal(signal.SIGINT, lambda *_: (draft.write_text("after Ctrl-C"), sys.exit(0)))
print("editing", flush=True)
signal.pause()
"""
    with at_terminal("edit", note_id, editor=editor(patient)) as terminal:
        terminal.wait_for("editing")
        terminal.interrupt()
        code = terminal.wait()

    assert (code, read_note(kb, note_id)) == (0, ("after Ctrl-C", 2))


def test_a_note_is_written_in_the_editor_when_no_text_is_given(
    kb: Kb, editor: MakeEditor, at_terminal: Callable[..., OnTerminal], drafts: Path
) -> None:
    writing = editor("draft.write_text('# Periwinkles\\n\\nThey live on rocks\\n')")

    with at_terminal("addnote", "--tag", "shore", "--json", editor=writing) as terminal:
        code = terminal.wait()
    with at_terminal("addnote", editor=editor("pass")) as unwritten:
        nothing = unwritten.wait()

    job = json.loads(next(line for line in terminal.output.splitlines() if line.startswith("{")))
    note = json.loads(kb("get", str(job["document_id"]), "--json").stdout)
    assert (code, note["text"].strip(), note["tags"]) == (0, "# Periwinkles\n\nThey live on rocks", ["shore"])
    assert nothing == 1
    assert "no note was added" in unwritten.output
    assert list(drafts.iterdir()) == []


def test_without_a_text_and_without_a_terminal_nothing_is_added(kb: Kb, editor: MakeEditor) -> None:
    result = kb("addnote", EDITOR=editor("draft.write_text('never')"))

    assert result.exit_code == 2
    assert "no text" in result.stderr


def test_any_document_is_given_another_title_without_an_editor(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "scan_0007.txt").write_text("The boathouse is let until the year is over")
    document_id = str(json.loads(kb("add", str(tmp_path / "scan_0007.txt"), "--json").stdout)["document_id"])

    result = kb("edit", document_id, "--title", "Lease of the boathouse", EDITOR="false")

    assert (result.exit_code, result.stderr) == (0, "")
    assert "Lease of the boathouse" in result.stdout
    assert json.loads(kb("get", document_id, "--json").stdout)["title"] == "Lease of the boathouse"


@pytest.mark.parametrize(("title", "code"), [("", 2), ("x" * 501, 4)])
def test_a_title_that_is_none_is_refused(kb: Kb, note_id: str, title: str, code: int) -> None:
    assert kb("edit", note_id, "--title", title).exit_code == code
