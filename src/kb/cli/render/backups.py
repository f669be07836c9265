"""What is told of backups."""

from pathlib import Path

from kb.cli.render.terminal import Json, complain, counted, one_line, open_console, readable_size

NOBODY_TO_ASK_BEFORE_RESTORING = (
    "This replaces everything that is there, and there is no terminal to ask on. Add --yes if you mean it."
)
STOPPED = "Stopped. Nothing was changed."
NOTHING_RESTORED = "Nothing was restored."


BASE_ELSEWHERE = (
    "The base is in the database that KB_STORE_URL names. Back it up with pg_dump and its originals with the tools of "
    "where they are, or write all of it into a bundle: kb export FILE"
)


def originals_elsewhere(url: str) -> str:
    return (
        f"The originals are in {url} (KB_ORIGINALS_URL), and a backup has only those of a data directory. Use "
        "`kb export` and `kb import`, or what your database and your S3 server have for that."
    )


def question_before_restoring(data_dir: Path, manifest: Json) -> str:
    documents = counted(manifest["documents"], "document")
    return f"Replace everything in {data_dir} with the backup of {manifest['created_at']} ({documents})?"


def show_backup(destination: Path, manifest: Json, seconds: float) -> None:
    open_console().print(one_line(f"Backed up {_contents(manifest)} to {destination} in {seconds:.1f} s."))
    for damage in manifest["damage"]:
        complain(damage["message"])
    if manifest["damage"]:
        complain("What is damaged is not, or not wholly, in this backup. Keep an older one.")


def show_restored(data_dir: Path, manifest: Json, seconds: float) -> None:
    sentence = f"Restored {_contents(manifest)} as of {manifest['created_at']} into {data_dir} in {seconds:.1f} s."
    open_console().print(one_line(sentence))


def _contents(manifest: Json) -> str:
    documents, originals = counted(manifest["documents"], "document"), counted(manifest["originals"], "original")
    return f"{documents} and {originals} ({readable_size(manifest['database_bytes'] + manifest['originals_bytes'])})"
