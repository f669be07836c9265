"""What is told of bundles."""

from kb.cli.render.terminal import Json, complain, counted, one_line, open_console, readable_size

BROKE_OFF = "The bundle broke off on its way. The engine's log may tell why; then do the same again."
NO_BUNDLE = "There is no bundle. Name its file, or give `-` and pipe it in."
NOT_FOR_TERMINALS = "A bundle is not for the terminal. Name a file, or pipe it into `kb import -`."


def cannot_be_moved(error: OSError) -> str:
    return f"The bundle cannot be read or written: {error.strerror}."


def show_exported(size_bytes: int, file: str | None) -> None:
    if file is None:
        # Standard output is the bundle itself.
        complain(f"Exported {readable_size(size_bytes)}.")
    else:
        open_console().print(one_line(f"Exported {readable_size(size_bytes)} to {file}."))


def show_imported(imported: Json) -> None:
    added = counted(imported["documents_added"], "document")
    others = f"{imported['documents_replaced']} replaced, {imported['documents_unchanged']} already there"
    open_console().print(f"Imported {added} ({others}).")
    if imported["reindexing"]:
        complain("Some vectors are of another model. They are being made anew; until then words find those documents.")
