"""The files on this machine that agents may have read: those below certain folders, and nothing that is hidden.

A path is taken apart in two steps, because the disk may change at any moment. First it is spelled out and its links are
resolved; that shows where the file is, and whether it may be read. Then the file is opened part by part from its root
on, and this time no link is followed: whoever has put one there meanwhile gets an error and never another file. What
the agent gets is read from the one descriptor that was checked.

kb's own files are never read, wherever they are: the files of keys, `kb.toml` and the data directory. They are refused
by their path, and by their device and inode, which are the same for a hard link and for another mount of the folder.

The disk outside of the folders is never spoken of: a path that leads there is refused in the same words whether there
is such a file or not.
"""

import asyncio
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from kb.mcp.answers import CUT
from kb.mcp.errors import ToolError

Identity: TypeAlias = tuple[int, int]
"""The device and the inode of a file."""

MOST_AT_ONCE = 4
# Linux takes no longer path, and other systems none so long.
MAX_PATH_BYTES = 4096
MAX_SHOWN_CHARACTERS = 500
# Kernels and drivers answer here, whatever folders the owner has chosen.
SYSTEM_FOLDERS = frozenset({"proc", "sys", "dev"})
KINDS = {
    stat.S_IFDIR: "a folder: name one of the files in it",
    stat.S_IFIFO: "a pipe: write what comes out of it to a file, and name that",
    stat.S_IFSOCK: "a socket: save what it has to say in a file, and name that",
    stat.S_IFCHR: "a device: copy what it holds into a file, and name that",
    stat.S_IFBLK: "a device: copy what it holds into a file, and name that",
}

# With O_PATH a folder may be passed through that cannot be listed; not every system has it.
_PASS_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
_READ_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


@dataclass(frozen=True)
class OpenedFile:
    """`path` is where the file really is, without any symbolic link; it is valid Unicode."""

    path: Path
    size_bytes: int
    content: BinaryIO


class FileRoots:
    def __init__(self, folders: tuple[Path, ...], private: tuple[Path, ...] = ()) -> None:
        """Files below `folders` may be read, except those in `private`: files, and folders with everything in them."""
        self._folders = folders
        self._private = private
        self.turns = asyncio.Semaphore(MOST_AT_ONCE)
        """To be held by whoever reads: a disk that hangs may take some threads and connections, never all."""

    @contextmanager
    def open_file(self, given: str) -> Iterator[OpenedFile]:
        """A regular file below one of the folders.

        A leading `~` is the user's home, a relative path begins at the working directory, and `..` takes back the part
        before it, even one that is a link. Does not wait for pipes and does not open devices.

        Raises `ToolError` with `path_not_allowed`, `file_not_found` or `file_not_readable`.
        """
        try:
            _check_text(given)
            root, path = self._locate(given)
            identities = _identities_of(self._private)
            descriptor = _open_below(root, path.relative_to(root).parts, identities)
        except _IsPrivate as error:
            raise _not_allowed(self._find_roots(), file_path=_show(given)) from error
        except ToolError as error:
            error.details["file_path"] = _show(given)
            raise
        except OSError as error:
            code, message = _explain(error)
            raise ToolError(code, message, file_path=_show(given)) from error
        with os.fdopen(descriptor, "rb") as content:
            yield OpenedFile(path, os.fstat(descriptor).st_size, content)

    def _locate(self, given: str) -> tuple[Path, Path]:
        """The root of the file, and where it really is if it is there at all."""
        roots = self._find_roots()
        spelled = _spell_out(given, (*self._folders, *roots))
        if spelled is None or _is_of_system(spelled):
            raise _not_allowed(roots)
        try:
            path = _resolve(spelled)
        except RecursionError as error:
            # So many links that nobody knows where they lead.
            raise _not_allowed(roots) from error
        allowing = [root for root in roots if _allows(root, path)]
        is_private = any(path.is_relative_to(_resolve(one)) for one in self._private)
        if _is_of_system(path) or is_private or not allowing:
            raise _not_allowed(roots)
        if not _is_text(str(path)):
            raise ToolError("file_not_readable", "The file's name is not valid Unicode. Ask the user to rename it.")
        # The outermost, so that no link above an inner one is followed.
        return min(allowing, key=lambda root: len(root.parts)), path

    def _find_roots(self) -> list[Path]:
        """Where the folders really are, as far as there are any now."""
        return [root for root in dict.fromkeys(map(_resolve, self._folders)) if os.path.isdir(root)]


def _check_text(given: str) -> None:
    if not given or "\0" in given or not _is_text(given) or len(os.fsencode(given)) > MAX_PATH_BYTES:
        raise ToolError("file_not_found", "This cannot be the path of a file. Give its path as the system shows it.")


def _spell_out(given: str, own: tuple[Path, ...]) -> Path | None:
    """The absolute path, its links not yet resolved; None if a hidden part is named that is not of `own` folders."""
    spelled, names = _split(given)
    for name in names:
        if name == "..":
            spelled = spelled.parent
            continue
        spelled /= name
        # A hidden folder on the way to a root is as the owner wants it.
        if _is_hidden(name) and not any(folder.is_relative_to(spelled) for folder in own):
            return None
    return spelled


def _split(given: str) -> tuple[Path, list[str]]:
    """The folder where the path begins, and the names that lead on from there."""
    first, *others = given.split("/")
    if first == "~":
        start, names = Path(os.path.expanduser("~")).absolute(), others
    else:
        start, names = Path.cwd() if first else Path("/"), [first, *others]
    return start, [name for name in names if name not in ("", ".")]


def _resolve(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _allows(root: Path, path: Path) -> bool:
    return path.is_relative_to(root) and not any(map(_is_hidden, path.relative_to(root).parts))


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _is_of_system(path: Path) -> bool:
    # Some systems do not tell /dev from /DEV.
    return any(name.lower() in SYSTEM_FOLDERS for name in path.parts[1:2])


class _IsPrivate(Exception):
    pass


def _identities_of(private: Iterable[Path]) -> frozenset[Identity]:
    """Returns those of the files and folders, and of the files directly in the folders, such as the database."""
    found = set()
    for path in private:
        with suppress(OSError):
            found.add(_identity_of(os.stat(path)))
            if path.is_dir():
                with os.scandir(path) as entries:
                    found.update(_identity_of(one.stat(follow_symlinks=False)) for one in entries)
    return frozenset(found)


def _identity_of(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def _open_below(root: Path, names: tuple[str, ...], private: frozenset[Identity]) -> int:
    """Open the regular file without following links below `root`; returns its descriptor. Raises `_IsPrivate`."""
    if not names:
        raise _wrong_kind(stat.S_IFDIR)
    folder = _open_folder(root)
    try:
        _refuse_private(folder, private)
        for name in names[:-1]:
            inner = _open_folder(name, folder)
            os.close(folder)
            folder = inner
            _refuse_private(folder, private)
        file = _open_regular(names[-1], folder)
    finally:
        os.close(folder)
    try:
        _refuse_private(file, private)
    except _IsPrivate:
        os.close(file)
        raise
    return file


def _refuse_private(descriptor: int, private: frozenset[Identity]) -> None:
    if _identity_of(os.fstat(descriptor)) in private:
        raise _IsPrivate


def _open_folder(name: str | Path, parent: int | None = None) -> int:
    try:
        return os.open(name, _PASS_FOLDER, dir_fd=parent)
    except NotADirectoryError:
        # Of a link some systems say the same.
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "A link has come into the path.") from None
        raise


def _open_regular(name: str, folder: int) -> int:
    # Opening a device can set it going, so the first look comes before. Only the second is at what was really opened.
    _check_kind(os.stat(name, dir_fd=folder, follow_symlinks=False))
    descriptor = os.open(name, _READ_FILE, dir_fd=folder)
    try:
        _check_kind(os.fstat(descriptor))
    except (ToolError, OSError):
        os.close(descriptor)
        raise
    return descriptor


def _check_kind(found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "A link has come into the path.")
    if not stat.S_ISREG(found.st_mode):
        raise _wrong_kind(stat.S_IFMT(found.st_mode))


def _wrong_kind(kind: int) -> ToolError:
    return ToolError("file_not_readable", f"This is no file but {KINDS.get(kind, 'something else: name a file')}.")


def _not_allowed(roots: Iterable[Path], **details: object) -> ToolError:
    named = ", ".join(f"'{_show(str(root))}'" for root in roots) or "no folder at present"
    return ToolError(
        "path_not_allowed",
        f"Files may be read below these folders: {named}. Links count as what they lead to; hidden names (with a dot "
        "in front), kb's own files and /proc, /sys and /dev are never read. Ask the user to copy the file there, or to "
        "have the folder added to KB_MCP_FILE_ROOTS.",
        **details,
    )


def _explain(error: OSError) -> tuple[str, str]:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG:
            return (
                "file_not_found",
                "There is no such file on the machine of this server. Look at the spelling, and give the whole path.",
            )
        case errno.ELOOP:
            return (
                "path_not_allowed",
                "Links in this path lead in a circle, or the path was changed while the file was being opened. Give "
                "the path of the file itself, without links.",
            )
        case errno.EACCES | errno.EPERM:
            return (
                "file_not_readable",
                "This server has no permission to read the file. Ask the user to allow it, or to copy the file.",
            )
        case _:
            return "file_not_readable", "The file cannot be opened just now. Try again shortly, or name a copy of it."


def _is_text(name: str) -> bool:
    """False for what stands in place of bytes that are no text: no answer can hold it."""
    try:
        name.encode()
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def _show(text: str) -> str:
    shown = text.encode(errors="backslashreplace").decode()
    return shown if len(shown) <= MAX_SHOWN_CHARACTERS else shown[:MAX_SHOWN_CHARACTERS] + CUT
