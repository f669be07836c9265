"""How the engine is."""

from rich.text import Text

from kb.cli.render.terminal import Json, one_line, open_console, readable_size


def show_status(status: Json) -> None:
    documents, queue, model, health = (status[part] for part in ("documents", "queue", "model", "health"))
    by_type = ", ".join(f"{count} {name}" for name, count in sorted(documents["by_type"].items()))
    loaded = "loaded" if model["loaded"] else "not loaded"
    facts = {
        "engine": f"{status['version']}, {health['status']}",
        "documents": f"{documents['total']}" + (f" ({by_type})" if by_type else ""),
        "chunks": f"{status['chunks']}",
        "size": readable_size(status["size_bytes"]),
        "queue": ", ".join(f"{queue[state]} {state}" for state in ("queued", "running", "failed")),
        "model": f"{model['name']}, {loaded}",
        "data": status["storage"]["data_dir"],
        "changed": status["last_updated"] or "never",
    }
    console = open_console()
    for name, fact in facts.items():
        console.print(Text.assemble((f"{name:<11}", "dim"), one_line(fact)))
    if status.get("access") == "read":
        console.print(Text.assemble((f"{'access':<11}", "yellow"), "this key can only read"))
    for issue in health["issues"]:
        console.print(Text.assemble((f"{'issue':<11}", "yellow"), one_line(issue)))
