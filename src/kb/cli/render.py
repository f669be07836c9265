"""Every word that a person reads in the terminal.

What was asked for goes to stdout; remarks, errors and progress go to stderr. On a terminal there are colours
(not with NO_COLOR) and long lines are folded; in a pipe there are neither, and no line is cut.

Titles and texts come from documents, which anybody may have written: control characters are taken out, so
that no document can move the cursor or rename the window.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kb.version import VERSION

if TYPE_CHECKING:
    from kb.settings import EngineSettings

Json: TypeAlias = dict[str, Any]  # Any: the engine's JSON, whose shapes its reference page tells
ShowProgress: TypeAlias = Callable[[str, int], None]
"""Takes what is being worked on, and how many more are done."""

BROKE_OFF = "The bundle broke off on its way. The engine's log may tell why; then do the same again."
NO_BUNDLE = "There is no bundle. Name its file, or give `-` and pipe it in."
NO_FILES = "There are no files to add: the folder has none that are neither hidden nor empty."
NO_TEXT = "There is no text. Give it as an argument, or give `-` and pipe it in."
NOBODY_TO_ASK = "This deletes for good, and there is no terminal to ask on. Add --yes if you mean it."
NOBODY_TO_ASK_BEFORE_RESTORING = (
    "This replaces everything that is there, and there is no terminal to ask on. Add --yes if you mean it."
)
NOTHING_RESTORED = "Nothing was restored."
QUEUE_IS_FULL = "The engine's queue is full. Waiting until it has done some of its jobs ..."
STOPPED = "Stopped. Nothing was changed."
NOT_UTF8 = "Standard input is not UTF-8 text. Convert it, or add it as a file with `kb add`."
NOTHING_DELETED = "Nothing was deleted."
NOT_FOR_TERMINALS = "A bundle is not for the terminal. Name a file, or pipe it into `kb import -`."
ONE_TITLE_FOR_MANY = "A title is for one file, and these are several. Leave --title out."

_ADVICE = {
    "unauthorized": "Set KB_API_KEY (or KB_API_KEY_FILE) to the engine's key.",
    "document_not_found": "`kb search` shows the numbers of documents.",
    "not_a_note": "Change the file and add it again with `kb add`.",
    "version_conflict": "`kb get` shows it.",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARKED = re.compile(r"\*\*(.+?)\*\*")
_SIZES = ("bytes", "KB", "MB", "GB", "TB")


def complain(sentence: str) -> None:
    _console(stderr=True).print(_clean(sentence))


def print_json(answer: Json) -> None:
    print(json.dumps(answer, ensure_ascii=False))


def engine_is_unreachable(url: str) -> str:
    return f"There is no engine at {url}. Start one with `kb up`, or set KB_ENGINE_URL to where it runs."


def engine_is_silent(url: str) -> str:
    return f"The engine at {url} does not answer. Look at its log, or try again later."


def not_an_engine(url: str) -> str:
    return f"What answers at {url.rstrip('/')} is not a kb engine. Set KB_ENGINE_URL to where the engine runs."


def advise(code: str) -> str:
    """What to do next, where the engine cannot know that it speaks to somebody at a command line."""
    return _ADVICE.get(code, "")


def not_installed(extra: str) -> str:
    program = {"engine": "The engine", "mcp": "The MCP server"}[extra]
    return f"{program} is not installed here. Install it: pip install 'kb-local[{extra}]'."


def waiting_for_port(port: int) -> str:
    return f"Port {port} is still in use. Waiting a moment for it ..."


def no_such_file(error: FileNotFoundError) -> str:
    return f"There is no file or folder {error}. Nothing was added."


def cannot_be_read(error: OSError) -> str:
    return f"It cannot be read: {error.strerror}."


def unusable_data_dir(error: OSError) -> str:
    return f"The data directory {error.filename} cannot be used: {error.strerror}. Choose another KB_DATA_DIR."


def skipped(count: int) -> str:
    return f"Left out {_count(count, 'file')} of a kind that kb cannot read. Add one by its name to see why."


def question_before_deleting(documents: Sequence[Json]) -> str:
    listed = "".join(f"  {document['id']}  {_line(document['title'])}\n" for document in documents)
    return f"{listed}Delete {_count(len(documents), 'document')} for good?"


def question_before_restoring(data_dir: Path, manifest: Json) -> str:
    documents = _count(manifest["documents"], "document")
    return f"Replace everything in {data_dir} with the backup of {manifest['created_at']} ({documents})?"


def reachable(url: str) -> str:
    """The address of a program that listens on all addresses, as seen from its own machine."""
    return re.sub(r"//(0\.0\.0\.0|\[::\])", "//127.0.0.1", url)


def show_running(settings: "EngineSettings", engine_url: str, mcp_url: str | None) -> None:
    """What a person needs who has just started everything."""
    engine_url = reachable(engine_url)
    told = [f"export KB_ENGINE_URL={engine_url}"] if engine_url != "http://127.0.0.1:8000" else []
    if settings.api_key.get_secret_value():
        told.append("export KB_API_KEY=...   (the same key)")
    # Started from a project's own environment, it is not found by its bare name.
    kb = "kb" if shutil.which("kb") else sys.argv[0]
    commands = [f'{kb} addnote "The spare key is under the flower pot"', f'{kb} search "where is the key"']
    lines = [
        f"kb {VERSION} is running. Ctrl-C stops it.",
        "",
        f"  Engine API  {engine_url}/api/v1",
        *([f"  MCP server  {reachable(mcp_url)}/mcp"] if mcp_url else []),
        f"  Data        {settings.data_dir}",
        "",
        "In another terminal:",
        *(f"  {command}" for command in (*told, *commands)),
        "",
    ]
    print("\n".join(lines), flush=True)


@contextmanager
def progress(total: int) -> Iterator[ShowProgress]:
    """A bar on the terminal while the block runs; nothing in a pipe."""
    console = _console(stderr=True)
    if not console.is_terminal:
        yield lambda label, done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("", total=total)
        yield lambda label, done: bar.update(task, description=_line(label), advance=done)


@contextmanager
def progress_of_copying() -> Iterator[Callable[[str, int, int], None]]:
    """As `progress`, for work whose steps are counted as it goes: what is done, how much, and of how much."""
    console = _console(stderr=True)
    if not console.is_terminal:
        yield lambda label, done, total: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("")
        yield lambda label, done, total: bar.update(task, description=label, completed=done, total=total)


@contextmanager
def progress_of_bytes(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """As `progress`, for bytes on their way, of which it is perhaps not known how many there are."""
    console = _console(stderr=True)
    if not console.is_terminal:
        yield lambda count: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(_line(label), total=total)
        yield lambda count: bar.update(task, advance=count)


def describe_progress(label: str, job: Json) -> str:
    return f"{label}: {job['message'] or job['current_step']}"


def show_job(job: Json, label: str) -> None:
    if job["document_id"] is None:
        sentence = f"Job {job['id']} is {job['status']}: {label}" if label else f"Job {job['id']} is {job['status']}"
    elif job["duplicate"]:
        sentence = f"Document {job['document_id']} is already there: {label}"
    else:
        chunks = _count(job["chunks_created"] or 0, "chunk")
        sentence = f"Document {job['document_id']} added: {label} ({chunks})"
    _console().print(_line(sentence))


def job_failure(job: Json, label: str) -> str:
    error = job["error"] or {"message": f"The job was {job['status']}."}
    return f"{_line(label)}: {error['message']}"


def show_updated(note: Json) -> None:
    chunks = _count(note["chunk_count"], "chunk")
    _console().print(_line(f"Note {note['id']} updated: {note['title']} (version {note['version']}, {chunks})"))


def show_deleted(deleted: Json) -> None:
    _console().print(_line(f"Document {deleted['document_id']} deleted: {deleted['title']}"))


def show_hits(answer: Json) -> None:
    console = _console()
    for rank, hit in enumerate(answer["results"], start=1):
        title = Text.assemble((f"{rank:>2}  ", "dim"), (_line(hit["title"]), "bold"))
        console.print(title, Text(f"{hit['relevance']:.2f}", "cyan"), sep="  ")
        place = [f"document {hit['document_id']}", *_place(hit)]
        place += [f"tags: {', '.join(hit['tags'])}"] if hit["tags"] else []
        _print_indented(console, Text(_line(" · ".join(place)), "dim"))
        _print_indented(console, _marked(_line(hit["snippet"]), styled=console.is_terminal))
    if not answer["results"]:
        complain("Nothing was found. Try other words, fewer tags, or `kb status` to see what is there.")
    if answer.get("suggestion"):
        complain(f"Did you mean: {answer['suggestion']}")
    if answer.get("degraded"):
        complain("Searched by words only: the embedding model is still loading.")


def show_document(document: Json) -> None:
    console = _console()
    facts = [f"document {document['id']}", document["doc_type"], f"version {document['version']}"]
    facts += [f"tags: {', '.join(document['tags'])}"] if document["tags"] else []
    facts.append(f"added {document['created_at']}")
    facts += [f"changed {document['updated_at']}"] if document["updated_at"] else []
    facts += [document["source_path"]] if document["source_path"] else []
    console.print(Text(_line(document["title"]), "bold"))
    console.print(Text(_line(" · ".join(facts)), "dim"))
    if "text" in document:
        console.print(f"\n{_clean(document['text'])}")
        return
    place: list[str] = []
    for chunk in document["chunks"]:
        if _place(chunk) != place:
            place = _place(chunk)
            console.print(Text(f"\n{_line(' · '.join(place))}", "dim"))
        console.print(f"\n{_clean(chunk['text'])}")


def show_status(status: Json) -> None:
    documents, queue, model, health = (status[part] for part in ("documents", "queue", "model", "health"))
    by_type = ", ".join(f"{count} {name}" for name, count in sorted(documents["by_type"].items()))
    loaded = "loaded" if model["loaded"] else "not loaded"
    facts = {
        "engine": f"{status['version']}, {health['status']}",
        "documents": f"{documents['total']}" + (f" ({by_type})" if by_type else ""),
        "chunks": f"{status['chunks']}",
        "size": _size(status["size_bytes"]),
        "queue": ", ".join(f"{queue[state]} {state}" for state in ("queued", "running", "failed")),
        "model": f"{model['name']}, {loaded}",
        "data": status["storage"]["data_dir"],
        "changed": status["last_updated"] or "never",
    }
    console = _console()
    for name, fact in facts.items():
        console.print(Text.assemble((f"{name:<11}", "dim"), _line(fact)))
    if status.get("access") == "read":
        console.print(Text.assemble((f"{'access':<11}", "yellow"), "this key can only read"))
    for issue in health["issues"]:
        console.print(Text.assemble((f"{'issue':<11}", "yellow"), _line(issue)))


def show_backup(destination: Path, manifest: Json, seconds: float) -> None:
    _console().print(_line(f"Backed up {_contents(manifest)} to {destination} in {seconds:.1f} s."))
    for damage in manifest["damage"]:
        complain(damage["message"])
    if manifest["damage"]:
        complain("What is damaged is not, or not wholly, in this backup. Keep an older one.")


def show_restored(data_dir: Path, manifest: Json, seconds: float) -> None:
    sentence = f"Restored {_contents(manifest)} as of {manifest['created_at']} into {data_dir} in {seconds:.1f} s."
    _console().print(_line(sentence))


def file_exists(path: Path) -> str:
    return f"{path} is already there. Choose another name, or add --force to replace it."


def cannot_be_moved(error: OSError) -> str:
    return f"The bundle cannot be read or written: {error.strerror}."


def show_exported(size_bytes: int, file: str | None) -> None:
    if file is None:
        # Standard output is the bundle itself.
        complain(f"Exported {_size(size_bytes)}.")
    else:
        _console().print(_line(f"Exported {_size(size_bytes)} to {file}."))


def show_imported(imported: Json) -> None:
    added = _count(imported["documents_added"], "document")
    others = f"{imported['documents_replaced']} replaced, {imported['documents_unchanged']} already there"
    _console().print(f"Imported {added} ({others}).")
    if imported["reindexing"]:
        complain("Some vectors are of another model. They are being made anew; until then words find those documents.")


def _contents(manifest: Json) -> str:
    documents, originals = _count(manifest["documents"], "document"), _count(manifest["originals"], "original")
    return f"{documents} and {originals} ({_size(manifest['database_bytes'] + manifest['originals_bytes'])})"


def _console(*, stderr: bool = False) -> Console:
    # Soft wrapping leaves folding to the terminal: a copied line stays one line.
    return Console(stderr=stderr, soft_wrap=True, markup=False, emoji=False, highlight=False)


def _print_indented(console: Console, text: Text) -> None:
    """Folded below its heading on a terminal; a single line in a pipe."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, 4), expand=False), soft_wrap=False)
    else:
        console.print(Text("    ").append_text(text))


def _marked(snippet: str, *, styled: bool) -> Text:
    """Where no style can be shown, the marks stay."""
    if not styled:
        return Text(snippet)
    text = Text()
    position = 0
    for match in _MARKED.finditer(snippet):
        text.append(snippet[position : match.start()]).append(match[1], "bold yellow")
        position = match.end()
    return text.append(snippet[position:])


def _place(chunk: Json) -> list[str]:
    page = [f"page {chunk['page_num']}"] if chunk["page_num"] is not None else []
    return page + ([chunk["heading"]] if chunk["heading"] else [])


def _clean(text: str) -> str:
    return _CONTROL.sub("", text)


def _line(text: str) -> str:
    return _clean(" ".join(text.split()))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in _SIZES:
        if size < 1024 or unit == _SIZES[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
