"""Notes as people see them."""

from kb.cli.render.terminal import Json, counted, one_line, open_console


def show_updated(note: Json) -> None:
    chunks = counted(note["chunk_count"], "chunk")
    open_console().print(one_line(f"Note {note['id']} updated: {note['title']} (version {note['version']}, {chunks})"))
