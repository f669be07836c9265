"""Embedding models as people see them."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from kb.cli.render.tables import print_row
from kb.cli.render.terminal import Json, complain, one_line, open_console, readable_size


def fetching(source: Path | None) -> str:
    where = "some 90 MB, once" if source is None else f"from {source}"
    return f"Fetching the embedding model ({where}) ..."


def show_models(models: Sequence[Json]) -> None:
    """In a pipe: name, whether it is used, size in bytes, dimension and folder, between tabs."""
    console = open_console()
    for model in models:
        if not console.is_terminal:
            cells = (model["name"], "used" if model["used"] else "", model["size_bytes"], model["dimension"] or "")
            print_row(*cells, model["folder"])
            continue
        facts = [f"{model['dimension']} dimensions", readable_size(model["size_bytes"])] if model["ready"] else []
        line = Text.assemble(("* " if model["used"] else "  ", "green"), (one_line(model["name"]), "bold"))
        console.print(line.append("  " + ", ".join([*facts, one_line(model["folder"])]), "dim"))
    for model in models:
        if model["problem"]:
            complain(one_line(model["problem"]))
