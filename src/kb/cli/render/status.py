"""How the engine is."""

from rich.text import Text

from kb.cli.render.terminal import Json, counted, local_time, one_line, open_console, readable_size


def show_status(status: Json) -> None:
    console = open_console()
    for name, fact in _facts_of(status).items():
        console.print(Text.assemble((f"{name:<11}", "dim"), one_line(fact)))
    if status.get("access") == "read":
        console.print(Text.assemble((f"{'access':<11}", "yellow"), "this key can only read"))
    for issue in status["health"]["issues"]:
        console.print(Text.assemble((f"{'issue':<11}", "yellow"), one_line(issue)))


def _facts_of(status: Json) -> dict[str, str]:
    documents, queue, model, storage = (status[part] for part in ("documents", "queue", "model", "storage"))
    by_type = ", ".join(f"{count} {name}" for name, count in sorted(documents["by_type"].items()))
    loaded = f"loaded, on {status['device']}" if model["loaded"] else "not loaded"
    changed_at = status["last_updated"]
    base = storage.get("base", storage["data_dir"])
    return {
        "engine": f"{status['version']}, {status['health']['status']}",
        "documents": f"{documents['total']}" + (f" ({by_type})" if by_type else ""),
        "chunks": f"{status['chunks']}, {counted(status['vectors'], 'vector')}",
        "size": readable_size(status["size_bytes"]),
        "queue": ", ".join(f"{queue[state]} {state}" for state in ("queued", "running", "failed")),
        "model": f"{model['name']}, {loaded}",
        "data": f"{base} ({storage['database']}, schema {status['schema_version']})",
        "changed": local_time(changed_at) if changed_at else "never",
    }
