"""Every command of `kb`: its name, where it is, and what it does in a sentence.

The list stands apart from the commands, so that `kb --help`, the shell's completion and each command load nothing
of the others. The sentence is also the first line of the command's own help: a test compares them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    name: str
    place: str
    """The module below `kb.cli.commands`, and in it the function or the group of commands."""
    summary: str
    takes_dashed_words: bool = False
    """Whether `-word` is something to work with, and no option."""


SECTIONS: dict[str, tuple[Entry, ...]] = {
    "Run": (
        Entry("up", "programs:up", "Start engine and MCP server, for one person on one machine."),
        Entry("engine", "programs:engine", "Start the engine alone: the HTTP API with its worker."),
        Entry("mcp", "programs:mcp", "Start the MCP server alone, for an engine that runs elsewhere."),
        Entry("worker", "programs:worker", "Start one more worker, beside the engine or on another machine."),
        Entry("demo", "demo:demo", "Add a few sample documents and show three searches."),
        Entry("service", "service:app", "Have kb run by itself, as a service of yours."),
        Entry("open", "opening:open_page", "Open the engine's page in the browser."),
    ),
    "Add": (
        Entry("add", "adding:add", "Add files, folders, or standard input."),
        Entry("addnote", "notes:addnote", "Add a note."),
        Entry("sync", "syncing:sync", "Make the base follow a folder: what is new, changed, renamed and deleted."),
    ),
    "Find": (
        Entry("search", "searching:search", "Search everything by words and by meaning.", takes_dashed_words=True),
        Entry("get", "documents:get", "Show a document with its text."),
        Entry("list", "documents:list_documents", "List documents, the newest first."),
        Entry("tags", "tags:tags", "List all tags and how many documents have them."),
        Entry(
            "eval",
            "evaluating:evaluate",
            "Measure how well search finds your documents, or answers your own questions.",
        ),
    ),
    "Change": (
        Entry("edit", "editing:edit", "Edit a note in your editor, or the title of any document."),
        Entry("updatenote", "notes:updatenote", "Put a new text in the place of a note's old one."),
        Entry("history", "history:history", "Show what a note said before, or bring it back."),
        Entry("tag", "tags:tag", "Add and remove tags of a document.", takes_dashed_words=True),
        Entry("delete", "documents:delete", "Delete documents for good, with their stored files."),
        Entry("clear", "documents:clear", "Delete everything."),
    ),
    "Follow": (
        Entry("status", "status:status", "Show how the engine is and what it holds."),
        Entry("jobs", "jobs:jobs", "List jobs, the newest first."),
        Entry("cancel", "jobs:cancel", "Cancel jobs that have not ended."),
        Entry("retry", "jobs:retry", "Try jobs again that failed or were cancelled."),
    ),
    "Keep": (
        Entry("doctor", "doctor:doctor", "Look for what is wrong, and say how to put it right."),
        Entry("reindex", "reindexing:reindex", "Make anew all that searches use, from the originals and notes."),
        Entry("backup", "backups:backup", "Copy everything into a new folder and check the copy."),
        Entry("restore", "backups:restore", "Put a backup in the place of everything that is there."),
        Entry("export", "bundles:export_bundle", "Write everything into one bundle: files, vectors and history."),
        Entry("import", "bundles:import_bundle", "Add the documents of a bundle that `kb export` has written."),
    ),
    "Set up": (
        Entry("connect", "connecting:connect", "Connect an AI client to the MCP server."),
        Entry("config", "configuring:config", "Show every setting, its value, and where that comes from."),
        Entry("model", "models:app", "Fetch and list embedding models."),
        Entry("completion", "completion:completion", "Print what makes your shell complete commands, tags and ids."),
        Entry("version", "version:version", "Show the versions of this program and of the engine."),
    ),
}

ALIASES = {"addfile": "add", "ls": "list", "rm": "delete"}

ENTRIES = {entry.name: entry for entries in SECTIONS.values() for entry in entries}
