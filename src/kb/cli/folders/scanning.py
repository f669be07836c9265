"""The files of a folder, and those that are left out with the reason."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kb.cli.folders.ignoring import Rules, is_ignored, parse_rules

GIT_RULES, KB_RULES = ".gitignore", ".kbignore"
_BYTE_AS_TEXT = re.compile(rb"\\x([89a-f][0-9a-f])")


class Reason(StrEnum):
    """Why a file or a folder with all that is in it was left out, to be read after its path."""

    HIDDEN = "hidden"
    IGNORED = "ignored"
    EMPTY = "empty"
    LINK = "link"
    SPECIAL = "no regular file"
    UNREADABLE = "cannot be read"
    VANISHED = "vanished just now"


@dataclass(frozen=True)
class FoundFile:
    path: Path
    size_bytes: int
    modified_ns: int
    changed_ns: int
    """When its content, name or permissions changed last: unlike `modified_ns`, no program can set it back."""
    inode: int


@dataclass(frozen=True)
class SkippedFile:
    path: Path
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class _Folder:
    path: str
    below: str
    """Its path as the rules see it, with slashes and one at its end."""
    git_rules: tuple[Rules, ...]
    kb_rules: tuple[Rules, ...]


def path_as_text(path: str | bytes | Path) -> str:
    """A path on disk may hold bytes that are no text, and those cannot be sent or shown as they are."""
    return os.fsencode(path).decode(errors="backslashreplace")


def paths_of_text(text: str) -> set[str]:
    """The paths on disk that may have been made this text."""
    return {text, os.fsdecode(_BYTE_AS_TEXT.sub(lambda byte: bytes([int(byte[1], 16)]), text.encode()))}


def scan_folder(folder: Path) -> Iterator[FoundFile | SkippedFile]:
    """Every file in it, in the order of names, and then those in the folders of it.

    Raises `OSError` if the folder itself cannot be listed, or was exchanged meanwhile. Links are not followed: they
    may lead anywhere, and back.
    """
    root = os.stat(folder)
    prefix, git_rules = _rules_from_above(folder)
    # Not by recursion: folders can be deeper than the interpreter's stack.
    waiting = [_Folder(str(folder), prefix, git_rules, ())]
    while waiting:
        current = waiting.pop()
        try:
            with os.scandir(current.path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
            current = _read_rules(current, entries)
        except OSError as error:
            if current.path == str(folder):
                raise
            yield _skip(current.path, error)
            continue
        folders = []
        for entry in entries:
            found = _judge(entry, current)
            if isinstance(found, _Folder):
                folders.append(found)
            else:
                yield found
        waiting += reversed(folders)
    # Of a disk that is taken away during the walk everything would seem to be gone.
    if not os.path.samestat(root, os.stat(folder)):
        raise FileNotFoundError(str(folder))


def _judge(entry: "os.DirEntry[str]", parent: _Folder) -> FoundFile | SkippedFile | _Folder:
    path = Path(entry.path)
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return _skip(entry.path, error)
    is_folder = stat.S_ISDIR(status.st_mode)
    below = parent.below + entry.name
    if entry.name.startswith("."):
        return SkippedFile(path, Reason.HIDDEN)
    # Rules for kb stand behind all those for git, so they can take back.
    if is_ignored(below, parent.git_rules + parent.kb_rules, is_folder=is_folder):
        return SkippedFile(path, Reason.IGNORED)
    if is_folder:
        return _Folder(entry.path, f"{below}/", parent.git_rules, parent.kb_rules)
    if stat.S_ISLNK(status.st_mode):
        return SkippedFile(path, Reason.LINK)
    if not stat.S_ISREG(status.st_mode):
        return SkippedFile(path, Reason.SPECIAL)
    if not status.st_size:
        return SkippedFile(path, Reason.EMPTY)
    return FoundFile(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _skip(path: str, error: OSError) -> SkippedFile:
    """What was listed and is gone now may have been moved to where the walk has been already."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return SkippedFile(Path(path), Reason.VANISHED)
    cause = error.strerror or ""
    name = os.path.basename(error.filename or "")
    return SkippedFile(Path(path), Reason.UNREADABLE, f"{name}: {cause}" if name in (GIT_RULES, KB_RULES) else cause)


def _read_rules(folder: _Folder, entries: "list[os.DirEntry[str]]") -> _Folder:
    # Nothing but a regular file: a pipe of that name would be waited for without end.
    names = {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    own = {name: (_read(folder.path, name, folder.below),) for name in (GIT_RULES, KB_RULES) if name in names}
    git_rules, kb_rules = folder.git_rules + own.get(GIT_RULES, ()), folder.kb_rules + own.get(KB_RULES, ())
    return _Folder(folder.path, folder.below, git_rules, kb_rules)


def _rules_from_above(folder: Path) -> tuple[str, tuple[Rules, ...]]:
    """The folder's path in the git repository that it lies in, and the rules between; neither if it lies in none."""
    real = Path(os.path.realpath(folder))
    for repository in (real, *real.parents):
        if os.path.lexists(repository / ".git"):
            break
    else:
        return "", ()
    rules = []
    for parent in reversed(real.parents):
        if parent.is_relative_to(repository) and os.path.isfile(parent / GIT_RULES):
            rules.append(_read(str(parent), GIT_RULES, _relative(parent, repository)))
    return _relative(real, repository), tuple(rules)


def _relative(folder: Path, repository: Path) -> str:
    return "".join(f"{part}/" for part in folder.relative_to(repository).parts)


def _read(folder: str, name: str, base: str) -> Rules:
    path = os.path.join(folder, name)
    try:
        with open(path, "rb") as file:
            return parse_rules(os.fsdecode(file.read()), base)
    except OSError as error:
        # Whoever is told of it should know which file it is.
        error.filename = path
        raise
