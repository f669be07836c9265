"""What is told of files and notes on their way into the base."""

from kb.cli.render.terminal import Json, counted, one_line, open_console

NO_FILES = "There are no files to add: the folder has none that are neither hidden nor empty."
QUEUE_IS_FULL = "The engine's queue is full. Waiting until it has done some of its jobs ..."
ONE_TITLE_FOR_MANY = "A title is for one file, and these are several. Leave --title out."


def no_such_file(error: FileNotFoundError) -> str:
    return f"There is no file or folder {error}. Nothing was added."


def left_out(count: int) -> str:
    return f"Left out {counted(count, 'file')} of a kind that kb cannot read. Add one by its name to see why."


def show_job(job: Json, label: str) -> None:
    if job["document_id"] is None:
        sentence = f"Job {job['id']} is {job['status']}: {label}" if label else f"Job {job['id']} is {job['status']}"
    elif job["duplicate"]:
        sentence = f"Document {job['document_id']} is already there: {label}"
    else:
        chunks = counted(job["chunks_created"] or 0, "chunk")
        sentence = f"Document {job['document_id']} added: {label} ({chunks})"
    open_console().print(one_line(sentence))


def job_failure(job: Json, label: str) -> str:
    error = job["error"] or {"message": f"The job was {job['status']}."}
    return f"{one_line(label)}: {error['message']}"
