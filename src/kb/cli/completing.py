"""What the shell offers when a tag or an id is half typed; nothing when the engine does not answer."""

from collections.abc import Iterator


def complete_tags(incomplete: str) -> Iterator[tuple[str, str]]:
    yield from ()


def complete_documents(incomplete: str) -> Iterator[tuple[str, str]]:
    yield from ()


def complete_notes(incomplete: str) -> Iterator[tuple[str, str]]:
    yield from ()


def complete_jobs(incomplete: str) -> Iterator[tuple[str, str]]:
    yield from ()
