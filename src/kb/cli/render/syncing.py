"""What is told of a folder that the base follows."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from kb.cli.folders.scanning import GIT_RULES, KB_RULES, path_as_text
from kb.cli.render.adding import left_behind
from kb.cli.render.progress import Board
from kb.cli.render.terminal import Json, complain, counted, one_line, open_console
from kb.cli.syncing.looking import IGNORED_NOW
from kb.cli.syncing.memory import FAILED_BEFORE
from kb.cli.syncing.planning import GONE, Add, Delete, Keep, Rename, Replace, Skip, Step

if TYPE_CHECKING:
    from kb.cli.syncing.carrying import Result, Totals

FOLDER_IS_BACK = "The folder is back."
ENGINE_IS_BACK = "The engine is back."
ASK_FOR_REASONS = "`--verbose` tells why files were skipped, `--retry` tries those again that failed before."
NOBODY_TO_ASK = "While it watches, kb deletes documents whose files are gone, and here is nobody to ask. Add --yes."
ENGINE_WILL_TELL = "Whether a file can be read, only the engine can tell when it has it."
LISTED_BEFORE_DELETING = 20
_ACTIONS: dict[type[Step], str] = {
    Add: "add",
    Replace: "replace",
    Rename: "rename",
    Delete: "delete",
    Skip: "skip",
    Keep: "keep",
}
_PAST: dict[type[Step], str] = {
    Add: "added",
    Replace: "replaced",
    Rename: "renamed",
    Delete: "deleted",
}
_FUTURE: dict[type[Step], str] = {kind: f"to {_ACTIONS[kind]}" for kind in _PAST}
# What may have become of the file of a document that is to be deleted.
_FATES = {GONE: "gone", IGNORED_NOW: "ignored now"}
_SIGNS = {Add: ("+", "green"), Replace: ("~", "cyan"), Rename: (">", "blue"), Delete: ("-", "red")}


def show_totals(totals: "Totals") -> None:
    """Also of work that was ended before its time, if it had begun."""
    if totals.unchanged is None:
        return
    took = time.monotonic() - totals.began_at
    complain(f"{_render_totals(totals, _PAST)} in {took:.1f} s")
    if totals.reasons[FAILED_BEFORE]:
        complain(ASK_FOR_REASONS)
    if totals.jobs_under_way:
        complain(left_behind(totals.jobs_under_way, unsent=0))
    if totals.undone:
        complain(f"Left undone: {counted(totals.undone, 'step')}. The same command again goes on from here.")


def show_planned(totals: "Totals") -> None:
    if totals.unchanged is None:
        return
    complain(f"{_render_totals(totals, _FUTURE)}. Nothing was done.")
    if totals.done[Add] or totals.done[Replace]:
        complain(ENGINE_WILL_TELL)


def _render_totals(totals: "Totals", words: Mapping[type[Step], str]) -> str:
    told = [f"{totals.done[kind]} {word}" for kind, word in words.items() if totals.done[kind]]
    if totals.kept:
        told.append(f"{totals.kept.total()} kept ({_render_reasons(totals.kept)})")
    if totals.unchanged:
        told.append(f"{totals.unchanged} unchanged")
    if totals.failed:
        told.append(f"{totals.failed} failed")
    if totals.reasons:
        told.append(f"{totals.reasons.total()} skipped ({_render_reasons(totals.reasons)})")
    return ", ".join(told) or "Nothing to do"


def _render_reasons(reasons: "Counter[str]") -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in reasons.most_common())


def show_result(
    board: Board, result: "Result", folder: Path, *, as_json: bool, verbose: bool, is_planned: bool
) -> None:
    if as_json:
        board.say_json({**_describe(result), "planned": True} if is_planned else _describe(result))
    if result.error is not None:
        board.complain(f"{_label(_path_of(result.step), folder)}: {result.error}")
    elif isinstance(result.step, Skip | Keep):
        if verbose:
            board.complain(_render_left_alone(result.step, folder))
    elif not as_json:
        board.say(render_step(result.step, folder))


def render_step(step: Step, folder: Path) -> Text:
    sign, style = _SIGNS[type(step)]
    path = _label(_path_of(step), folder)
    told = f"{_label(step.document.source_path, folder)} -> {path}" if isinstance(step, Rename) else path
    return Text().append(sign, style).append(f" {told}")


def _render_left_alone(step: Skip | Keep, folder: Path) -> str:
    label = _label(_path_of(step), folder)
    if isinstance(step, Keep):
        return f"Kept document {step.document.id}: {label}: {step.reason}"
    return f"Skipped {label}: {step.reason}" + (f": {step.detail}" if step.detail else "")


def _describe(result: "Result") -> Json:
    step = result.step
    told: Json = {"action": _ACTIONS[type(step)], "path": _path_of(step), "document_id": result.document_id}
    if not isinstance(step, Add | Skip):
        told["document_id"] = step.document.id
    if isinstance(step, Rename):
        told["from"] = step.document.source_path
    if isinstance(step, Skip):
        told["reason"] = f"{step.reason}: {step.detail}" if step.detail else step.reason
    if isinstance(step, Keep | Delete):
        told["reason"] = step.reason
    return told if result.error is None else {**told, "error": result.error}


def _path_of(step: Step) -> str:
    return step.document.source_path if isinstance(step, Delete | Keep) else step.path


def _label(path: str, folder: Path) -> str:
    """The path below the folder, as a person reads it."""
    above = path_as_text(folder).rstrip(os.sep) + os.sep
    return one_line(path.removeprefix(above))


@contextmanager
def show_reading() -> Iterator[Callable[[], None]]:
    """How many files have been read, on the terminal while the block runs; to be called before each."""
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    with console.status("Looking at the files ...") as status:
        read = 0

        def count() -> None:
            nonlocal read
            read += 1
            if read % 50 == 0:
                status.update(f"Looking at the files: {read} read ...")

        yield count


def list_before_deleting(deletes: Sequence[Delete], folder: Path) -> None:
    for delete in deletes[:LISTED_BEFORE_DELETING]:
        complain(f"  {_label(delete.document.source_path, folder)} (document {delete.document.id}): {delete.reason}")
    if len(deletes) > LISTED_BEFORE_DELETING:
        complain(f"  and {len(deletes) - LISTED_BEFORE_DELETING} more")


def question_before_deleting(deletes: Sequence[Delete]) -> str:
    return f"{_documents_of(deletes)}. Delete {_them(deletes)} for good?"


def kept_on_request(deletes: Sequence[Delete]) -> str:
    return f"Kept {_documents_of(deletes)}."


def kept_unasked(deletes: Sequence[Delete]) -> str:
    return f"Kept {_documents_of(deletes)}. Add --yes to delete {_them(deletes)}."


def _documents_of(deletes: Sequence[Delete]) -> str:
    documents, files = counted(len(deletes), "document"), "file is" if len(deletes) == 1 else "files are"
    reasons = {delete.reason for delete in deletes}
    if reasons <= _FATES.keys():
        return f"{documents} whose {files} {' or '.join(_FATES[reason] for reason in sorted(reasons))}"
    return f"{documents} without a file of {'its' if len(deletes) == 1 else 'their'} own"


def _them(deletes: Sequence[Delete]) -> str:
    return "it" if len(deletes) == 1 else "them"


def no_such_folder(folder: str) -> str:
    return (
        f"There is no folder {one_line(folder)}. Nothing was changed: look at the spelling, or whether it is mounted."
    )


def not_a_folder(path: str) -> str:
    return f"{one_line(path)} is a file. Add it with `kb add`."


def folder_is_away(folder: Path, error: OSError) -> str:
    return f"{_render_error(folder, error)} Nothing was changed."


def folder_is_another(folder: Path) -> str:
    return f"{_is_another(folder)}. Nothing was changed: run the command again when the right one is there."


def folder_is_changing(folder: Path) -> str:
    return (
        f"{_name(folder)} is changing: each look finds other files. Nothing is deleted until it rests; "
        "run the command again then."
    )


def disks_are_away(mounts: Sequence[str], kept: int) -> str:
    return (
        f"Not mounted any more: {', '.join(map(one_line, mounts))}. Kept {counted(kept, 'document')} from there. "
        "If that is for good, add --allow-empty."
    )


def _render_error(folder: Path, error: OSError) -> str:
    if os.path.basename(error.filename or "") in (GIT_RULES, KB_RULES):
        return f"{_name(error.filename)} cannot be read: {error.strerror}. Make it readable, or move it away."
    return f"{_name(folder)} cannot be listed: {error.strerror or 'it went away'}."


def _is_another(folder: Path) -> str:
    return f"{_name(folder)} is another folder than before"


def _name(path: str | Path) -> str:
    return one_line(path_as_text(path))


def folder_is_empty(folder: Path, skips: Sequence[Skip], count: int) -> str:
    return (
        f"{_nothing_to_send(folder, skips)}, and the base has {counted(count, 'document')} of it: perhaps a disk is "
        "not mounted. Nothing was changed. If it is meant to be so, add --allow-empty."
    )


def _nothing_to_send(folder: Path, skips: Sequence[Skip]) -> str:
    name = _name(folder)
    if not skips:
        return f"{name} is empty"
    return f"There is no file to send in {name} ({_render_reasons(Counter(skip.reason for skip in skips))})"


def is_followed_already(folder: str) -> str:
    return f"Another `kb sync` is at work on {one_line(folder)}. Wait for it, or end it."


def no_place_for_memory(folder: str, error: OSError) -> str:
    return f"{one_line(folder)} cannot be written to: {error.strerror}. Set XDG_CACHE_HOME to a folder that can."


def watching(folder: str) -> str:
    return f"Watching {one_line(folder)}. Ctrl-C ends it."


def folder_is_awaited(folder: Path, error: OSError) -> str:
    return f"{_render_error(folder, error)} Waiting; nothing is deleted."


def another_folder_is_awaited(folder: Path) -> str:
    return f"{_is_another(folder)}. Waiting; nothing is deleted. If it is to be followed, end kb and start it again."


def empty_folder_is_awaited(folder: Path, skips: Sequence[Skip]) -> str:
    return f"{_nothing_to_send(folder, skips)} all at once: perhaps a disk was taken away. Waiting; nothing is deleted."


def engine_is_awaited(url: str) -> str:
    return f"There is no engine at {url} now. Waiting for it."
