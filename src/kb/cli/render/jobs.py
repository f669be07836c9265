"""Jobs as people see them."""

from rich.text import Text

from kb.cli.render.tables import print_row, print_table
from kb.cli.render.terminal import Json, complain, counted, local_time, one_line, open_console

NONE_UNENDED = "There is no job that has not ended."
NONE_FAILED = "There is no job that failed."
NOTHING_CANCELLED = "Nothing was cancelled."
NOBODY_TO_ASK = "This cancels all jobs, and there is no terminal to ask on. Add --yes if you mean it."
_STYLES = {"queued": "dim", "running": "cyan", "completed": "green", "failed": "red", "cancelled": "yellow"}
_LONGEST_NAME = 32


def show_jobs(page: Json) -> None:
    console = open_console()
    if console.is_terminal and page["jobs"]:
        header = ("job", "when", "status", "what", "")
        print_table(console, header, [_row(job) for job in page["jobs"]], right={"job"})
    elif not console.is_terminal:
        for job in page["jobs"]:
            print_row(job["id"], job["status"], job["progress"], job["created_at"], name_of(job), _remark(job))
    told = page["offset"] + len(page["jobs"])
    if told < page["total"]:
        complain(f"{counted(page['total'], 'job')} in all. `--offset {told}` shows the next ones.")
    elif not page["jobs"]:
        complain("There are no such jobs.")


def _row(job: Json) -> list[Text]:
    name = Text(one_line(name_of(job)))
    name.truncate(_LONGEST_NAME, overflow="ellipsis")
    status = Text(job["status"], _STYLES.get(job["status"], ""))
    if job["status"] == "running":
        status.append(f" {job['progress']:.0%}")
    return [Text(str(job["id"])), Text(local_time(job["created_at"])), status, name, Text(one_line(_remark(job)))]


def _remark(job: Json) -> str:
    """What came of it, or how far it is."""
    if job["error"]:
        return str(job["error"]["message"])
    if job["document_id"] is not None:
        return f"document {job['document_id']}{', unchanged' if job['duplicate'] else ''}"
    return "" if job["finished_at"] else job["message"] or job["current_step"]


def name_of(job: Json) -> str:
    """Not every job is about a file or a note; and whoever wrote a note has never seen a file of it."""
    name = job["filename"] or job["type"]
    return str(name).removesuffix(".md") if job["type"] == "note" else str(name)


def show_in_full(job: Json) -> None:
    console = open_console()
    title = Text.assemble((f"Job {job['id']}: {one_line(name_of(job))}", "bold"), "  ")
    console.print(title.append(job["status"], _STYLES.get(job["status"], "")))
    for name, told in _facts(job).items():
        if told:
            console.print(Text.assemble((f"    {name:<10} ", "dim"), one_line(told)))


def _facts(job: Json) -> dict[str, str]:
    steps = f" ({job['completed_steps']} of {counted(job['total_steps'], 'step')})" if job["total_steps"] else ""
    error = job["error"]
    return {
        "type": job["type"],
        "progress": f"{job['progress']:.0%}{steps}",
        "doing": "" if job["finished_at"] else job["message"] or job["current_step"],
        "document": _document(job),
        "queued": local_time(job["created_at"]),
        "started": local_time(job["started_at"]) if job["started_at"] else "",
        "ended": local_time(job["finished_at"]) if job["finished_at"] else "",
        "took": _seconds(job["elapsed_seconds"]),
        "remaining": _seconds(job["estimated_remaining_seconds"]),
        "attempts": str(job["attempts"]),
        "uuid": job["uuid"],
        "error": f"{error['message']} ({error['code']})" if error else "",
        "next": _advice(job),
    }


def _document(job: Json) -> str:
    if job["document_id"] is None:
        return ""
    told = "unchanged" if job["duplicate"] else counted(job["chunks_created"] or 0, "chunk")
    return f"{job['document_id']} ({told})"


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.1f} s"


def _advice(job: Json) -> str:
    if job["status"] in {"failed", "cancelled"}:
        return f"`kb retry {job['id']}` tries it again"
    if job["status"] == "completed":
        return "" if job["document_id"] is None else f"`kb get {job['document_id']}` shows the document"
    return f"`kb jobs --follow {job['id']}` waits for it, `kb cancel {job['id']}` cancels it"


def show_cancelled(job: Json) -> None:
    open_console().print(one_line(f"Job {job['id']} cancelled: {name_of(job)}"))


def show_queued(job: Json) -> None:
    open_console().print(one_line(f"Job {job['id']} is {job['status']}: {name_of(job)}"))


def question_before_cancelling(count: int) -> str:
    return f"Cancel {counted(count, 'job')} that {'has' if count == 1 else 'have'} not ended?"
