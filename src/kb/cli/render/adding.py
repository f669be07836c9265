"""What is told of files and notes on their way into the base."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

from rich.text import Text

from kb.cli.render.terminal import Json, clean, complain, counted, one_line, open_console, readable_size

NO_FILES = "There is nothing to add."
ONE_TITLE_FOR_MANY = "A title is for one file, and these are several. Leave --title out."
OF_NO_KNOWN_KIND = "of a kind that kb cannot read"
_FATES = ("added", "unchanged", "replaced", "sent", "failed", "skipped")
_STYLES = {"added": "green", "replaced": "cyan", "unchanged": "dim"}


def no_such_files(paths: Sequence[str]) -> str:
    told = ", ".join(one_line(path) for path in paths)
    return (
        f"There is no file or folder that can be read: {told}. Nothing was added; look at the spelling and try again."
    )


def render_job(job: Json, label: str) -> Text:
    """What became of a file or a note that has not failed."""
    if job["document_id"] is None:
        return Text(
            one_line(f"Job {job['id']} is {job['status']}: {label}" if label else f"Job {job['id']} is {job['status']}")
        )
    fate = fate_of(job)
    chunks = "" if fate == "unchanged" else f" ({counted(job['chunks_created'] or 0, 'chunk')})"
    document = Text(f"Document {job['document_id']} ")
    return document.append(fate, _STYLES[fate]).append(f": {one_line(label)}{chunks}")


def fate_of(job: Json) -> str:
    """In a word, what became of a job that has not failed."""
    if job["document_id"] is None:
        return "sent"
    if job["duplicate"]:
        return "unchanged"
    return "replaced" if job["replaced"] else "added"


def job_failure(job: Json, label: str) -> str:
    error = job["error"] or {"message": f"The job was {job['status']}. `kb retry {job['id']}` tries it again."}
    return f"{one_line(label)}: {error['message']}"


def failure(label: str, sentence: str) -> str:
    return f"{one_line(label)}: {sentence}"


def summary(fates: Mapping[str, int], took: timedelta) -> str:
    told = ", ".join(f"{fates[fate]} {fate}" for fate in _FATES if fates.get(fate))
    return f"{told} in {took.total_seconds():.1f} s"


def left_behind(working: int, unsent: int) -> str:
    """What became of those that nobody waited for to the end."""
    told = []
    if working:
        them = "it" if working == 1 else "them"
        told.append(
            f"The engine still works on {counted(working, 'file')}: `kb jobs` shows {them}, `kb cancel` stops {them}."
        )
    if unsent:
        was = "was" if unsent == 1 else "were"
        told.append(f"{counted(unsent, 'file')} {was} not sent: the same command again adds what is missing.")
    return " ".join(told)


def skipped_by_reason(reasons: "Counter[str]") -> str:
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return f"Skipped: {one_line(told)} (-v lists each)."


def skipped_one(label: str, reason: str) -> str:
    return one_line(f"{label}: skipped, {reason}.")


def show_plan(files: Sequence[tuple[str, int]]) -> None:
    """What would be sent, and how large it is: on stdout the paths alone, for a script."""
    console = open_console()
    for label, _ in files:
        # As it is, but in one line.
        console.print(clean(label).replace("\n", "?"))
    size = readable_size(sum(size_bytes for _, size_bytes in files))
    complain(f"{counted(len(files), 'file')} ({size}) would be sent.")
