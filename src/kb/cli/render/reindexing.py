"""What `kb reindex` tells."""

from kb.cli.render.terminal import Json, one_line, open_console


def reindexing_goes_on(job: Json) -> str:
    return f"Job {job['id']} goes on without this program; `kb jobs` shows how far it is."


def reindex_failed(job: Json) -> str:
    error = job["error"]["message"] if job["error"] else "It was cancelled."
    return one_line(f"Job {job['id']} did not come to its end: {error} Try again: kb retry {job['id']}")


def show_reindexing(job: Json) -> None:
    open_console().print(f"Job {job['id']} makes anew all that searches use. `kb jobs` shows how far it is.")


def show_reindexed(job: Json) -> None:
    open_console().print(f"All that searches use was made anew (job {job['id']}).")
