"""Originals in a bucket of an S3 server, for engines and workers on many hosts that share no disk.

    PREFIX/base                      the base that they belong to
    PREFIX/abcdef.../20261118T...    a copy of the original abcdef...

No lock reaches all hosts, and S3 deletes an object whether somebody has just begun to count on it or not. So each
upload becomes an object of its own, a *copy*, under a name that nobody uses again. Invariants:

1. A copy is never written to. Whoever refers to an original has written a copy of it just before, and does not rely on
   those of others: what a deletion has seen is never what an upload counts on.
2. A copy younger than `GRACE` is not removed. By then there is a row that refers to it, or there will be none.
3. Of the older ones, all are removed if nothing refers to the original, and all but the newest if something does.
   The newest is the one that is read.

Tried and dropped: one object for each content, made only if it is not there. An upload that finds it there has to make
it younger, and between a deletion's look at its age and the deletion there is always room for that. Also, what is made
on such a condition is sent in one piece, and held in memory until it is.
"""

import hashlib
import logging
import re
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from kb.engine.errors import Conflict, Unreachable
from kb.engine.model.hashes import is_name_of_original
from kb.engine.originals import disk
from kb.engine.originals.disk import DamagedOriginal, MissingOriginal, UnsafeName
from kb.engine.originals.incoming import IncomingFile, own_folder, receive_into
from kb.engine.originals.port import Bucket, OpenOriginal, Watch, nothing

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import S3Credential

log = logging.getLogger(__name__)

# From the beginning of an upload, which is what S3 notes of one in parts, to its row it takes seconds; for the slowest
# line, minutes. Clocks differ by less than a quarter of an hour, or the server refuses what is signed with them.
GRACE = timedelta(hours=1)
# What was too young to be removed is looked at again before it is as old as this; so rarely, too, is all the rest.
RECENT = timedelta(days=1)
# Small enough to be sent within the time of a request. S3 wants 5 MB or more.
PART_BYTES = 5 * 1024 * 1024
PARTS_AT_A_TIME = 2
# Between two of them it is seen whether anybody still wants the file.
PIECE_BYTES = 1024 * 1024
LISTED_AT_ONCE = 1_000
CONNECT_WITHIN = timedelta(seconds=5)
# A program that is told to stop has to have ended before it is killed.
ANSWER_WITHIN = timedelta(seconds=20)
# The server itself moves the bytes, of however large an original, and answers when it has.
COPY_WITHIN = timedelta(minutes=2)
# Somebody waits for the answer, and is told to try again; so it is not tried for long.
RETRY_WITHIN = timedelta(seconds=20)
RETRIES = 3

OWNER = "base"
# The last is where a machine in AWS would be given the key of its role.
SIGNS_OF_A_WRONG_KEY = ("401 Unauthorized", "403 Forbidden", "/latest/api/token")
# Other names are not ours: another base may use a prefix below this one that ends like the name of an original.
_COPY = re.compile(r"[0-9a-f]{64}/[0-9]{8}T[0-9]{6}\.[0-9]{6}-[0-9a-f]{8}")


@contextmanager
def open_bucket(
    bucket: Bucket, transit: Path, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Iterator["BucketOriginals"]:
    """The originals in the bucket; in the folder `transit` are files on their way to and from there."""
    with own_folder(transit) as folder:
        yield BucketOriginals(bucket, folder, clock)


class BucketOriginals:
    def __init__(self, bucket: Bucket, transit: Path, clock: Callable[[], datetime]) -> None:
        self._url = bucket.url
        self._store = _connect(bucket, answer_within=ANSWER_WITHIN)
        self._patient_store = _connect(bucket, answer_within=COPY_WITHIN)
        self._transit = transit
        self._clock = clock
        self._swept_at: datetime | None = None

    @property
    def place(self) -> str:
        return self._url

    def read_mark(self) -> str:
        return self._url

    def belong_to(self, base_id: str) -> None:
        with translated_errors():
            owner = self._read_owner()
            if owner is None:
                try:
                    obstore.put(self._store, OWNER, base_id.encode(), mode="create")
                except AlreadyExistsError:
                    owner = self._read_owner()
                else:
                    return
        if owner != base_id:
            raise Conflict(
                f"The originals in {self._url} belong to another base. Choose another KB_ORIGINALS_URL; another prefix "
                f"will do. If this base has taken the place of that one, delete the object {OWNER} there."
            )

    def _read_owner(self) -> str | None:
        try:
            return obstore.get(self._store, OWNER).bytes().to_bytes().decode(errors="replace")
        except FileNotFoundError:
            return None

    def receive(self) -> AbstractContextManager[IncomingFile]:
        return receive_into(self._transit)

    def locked(self) -> AbstractContextManager[None]:
        return nullcontext()

    def keep(self, incoming: IncomingFile, name: str) -> None:
        with translated_errors():
            obstore.put(
                self._store,
                self._name_copy(name),
                incoming.path,
                chunk_size=PART_BYTES,
                max_concurrency=PARTS_AT_A_TIME,
            )

    def renew(self, name: str) -> int:
        copy = self._find_copy(name)
        self._read_whole(copy, name, lambda piece: None)
        with translated_errors():
            obstore.copy(self._patient_store, copy["path"], self._name_copy(name))
        return copy["size"]

    def check(self, name: str, watch: Watch = nothing) -> int:
        copy = self._find_copy(name)
        self._read_whole(copy, name, lambda piece: watch())
        return copy["size"]

    @contextmanager
    def open_file(self, name: str, watch: Watch = nothing) -> Iterator[Path]:
        copy = self._find_copy(name)
        path = self._transit / uuid.uuid4().hex
        try:
            with disk.translated_errors(), path.open("xb") as file:

                def write(piece: bytes) -> None:
                    watch()
                    file.write(piece)

                self._read_whole(copy, name, write)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def open_pieces(self, name: str) -> OpenOriginal:
        copy = self._find_copy(name)
        return OpenOriginal(copy["size"], self._read_in_pieces(copy))

    def release(self, names: Iterable[str], is_in_use: Callable[[str], bool]) -> int:
        # Of those in use the copies need not be listed.
        return self._try_to_remove((self._list_copies(name) for name in names if not is_in_use(name)), is_in_use)

    def release_all(self, is_in_use: Callable[[str], bool]) -> int:
        return self._try_to_remove(self._list_all(), is_in_use)

    def _try_to_remove(self, pages: "Iterable[list[ObjectMeta]]", is_in_use: Callable[[str], bool]) -> int:
        try:
            return self._remove_old(pages, is_in_use)
        except Unreachable as error:
            # The rows are gone, which is what counts; `remove_strays` comes back to this.
            log.warning("Originals that nothing refers to could not be removed: %s", error.message)
            return 0

    def sweep(self, is_in_use: Callable[[str], bool]) -> None:
        """What is on its way belongs to others too, and there may be very many; `remove_strays` sees to it."""

    def remove_strays(self, is_in_use: Callable[[str], bool]) -> None:
        """Look at what is recent, and once a day at everything: asking whether something refers to it takes time."""
        now = self._clock()
        if self._swept_at is None or now - self._swept_at >= RECENT:
            self._remove_old(self._list_all(), is_in_use)
            self._swept_at = now
        else:
            self._remove_old(self._list_all(since=now - RECENT), is_in_use)

    def _remove_old(self, pages: "Iterable[list[ObjectMeta]]", is_in_use: Callable[[str], bool]) -> int:
        freed_bytes, old = 0, self._clock() - GRACE
        for page in pages:
            removed: list[ObjectMeta] = []
            for name, of_name in groupby(page, _name_of):
                copies = sorted(of_name, key=_by_age)
                unneeded = copies[:-1] if is_in_use(name) else copies
                removed += [copy for copy in unneeded if copy["last_modified"] <= old]
            if removed:
                with translated_errors():
                    obstore.delete(self._store, [copy["path"] for copy in removed])
                freed_bytes += sum(copy["size"] for copy in removed)
        return freed_bytes

    def _find_copy(self, name: str) -> "ObjectMeta":
        if not is_name_of_original(name):
            raise UnsafeName
        try:
            return max(self._list_copies(name), key=_by_age)
        except ValueError as error:
            raise MissingOriginal from error

    def _list_copies(self, name: str) -> list["ObjectMeta"]:
        """Returns none for an unsafe name."""
        if not is_name_of_original(name):
            return []
        with translated_errors():
            return [
                copy
                for page in obstore.list(self._store, name, chunk_size=LISTED_AT_ONCE)
                for copy in page
                if _COPY.fullmatch(copy["path"])
            ]

    def _list_all(self, *, since: datetime | None = None) -> Iterator[list["ObjectMeta"]]:
        """Page by page. If the copies of an original stand on two pages, one too many is kept for now."""
        with translated_errors():
            for page in obstore.list(self._store, chunk_size=LISTED_AT_ONCE):
                copies = [copy for copy in page if _COPY.fullmatch(copy["path"])]
                recent = {_name_of(copy) for copy in copies if since is None or copy["last_modified"] >= since}
                yield [copy for copy in copies if _name_of(copy) in recent]

    def _name_copy(self, name: str) -> str:
        if not is_name_of_original(name):
            raise UnsafeName
        return f"{name}/{self._clock():%Y%m%dT%H%M%S.%f}-{uuid.uuid4().hex[:8]}"

    def _read_whole(self, copy: "ObjectMeta", name: str, write: Callable[[bytes], object]) -> None:
        digest = hashlib.sha256()
        for piece in self._read_in_pieces(copy):
            digest.update(piece)
            write(piece)
        if digest.hexdigest() != name:
            raise DamagedOriginal

    def _read_in_pieces(self, copy: "ObjectMeta") -> Generator[bytes]:
        """Each by a request of its own: whoever reads slowly does not hold up an answer until it is cut off."""
        for start in range(0, copy["size"], PIECE_BYTES):
            length = min(PIECE_BYTES, copy["size"] - start)
            with translated_errors():
                try:
                    piece = obstore.get_range(self._store, copy["path"], start=start, length=length).to_bytes()
                except FileNotFoundError as error:
                    cause = _ClientError(_without_answer(str(error)))
                    raise Unreachable("An original was removed while it was read. Try again.") from cause
            yield piece


def _name_of(copy: "ObjectMeta") -> str:
    return copy["path"].partition("/")[0]


def _by_age(copy: "ObjectMeta") -> tuple[datetime, str]:
    # Servers note seconds; the name goes on from there.
    return copy["last_modified"], copy["path"]


def _connect(bucket: Bucket, *, answer_within: timedelta) -> S3Store:
    """Place and key are given, so that those of the environment are not used; but for the key of a role, which is only
    there. Proxies are the environment's too."""
    place = urlsplit(bucket.url)
    endpoint = bucket.endpoint or f"https://s3.{bucket.region}.amazonaws.com"
    return S3Store(
        place.netloc,
        prefix=place.path.strip("/") or None,
        config={"aws_endpoint_url_s3": endpoint, "region": bucket.region},
        client_options={
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": CONNECT_WITHIN,
            "timeout": answer_within,
        },
        retry_config={"max_retries": RETRIES, "retry_timeout": RETRY_WITHIN},
        # Given in this way it comes without the session of some other key that the environment may hold.
        credential_provider=partial(_give_key, bucket) if bucket.access_key else None,
    )


def _give_key(bucket: Bucket) -> "S3Credential":
    return {"access_key_id": bucket.access_key, "secret_access_key": bucket.secret_key, "expires_at": None}


@contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except (BaseError, FileNotFoundError) as error:
        # The error itself contains the server's answer and would be logged. Many servers repeat the key's name in it.
        raise Unreachable(_explain(error)) from _ClientError(_without_answer(str(error)))


class _ClientError(Exception):
    """The message of the S3 client about a request, for the log."""


def _without_answer(message: str) -> str:
    """The message in one line: the request and the status, without the rest of the server's answer."""
    head, status, _ = message.partition("status code: ")
    line = " ".join(head.partition("\n\nDebug source:")[0].split())
    return f"{line} {status}{message[len(head + status) :][:3]}" if status else line


def _explain(error: Exception) -> str:
    told = str(error)
    if "NoSuchBucket" in told or isinstance(error, FileNotFoundError):
        return "The bucket with the originals is not there. Check KB_ORIGINALS_URL, KB_S3_ENDPOINT and KB_S3_REGION."
    if any(sign in told for sign in SIGNS_OF_A_WRONG_KEY):
        return (
            "The server with the originals refuses the key. Check KB_S3_ACCESS_KEY and KB_S3_SECRET_KEY, or the role "
            "of this machine, and that it may list, read, write and delete in the bucket."
        )
    return "The server with the originals does not answer as it should. Check that it runs, and KB_S3_ENDPOINT."
