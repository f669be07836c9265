"""Originals behave alike wherever they are kept."""

import hashlib
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
import pytest
from tests.backends import SqliteBackend
from tests.originals import Clock, is_kept, keep, list_copies, nothing
from tests.servers.seaweedfs import SeaweedFs

from kb.engine.errors import Conflict
from kb.engine.originals import Bucket, DamagedOriginal, FolderOriginals, MissingOriginal, Originals, UnsafeName
from kb.engine.originals.bucket import GRACE, PART_BYTES, PIECE_BYTES, open_bucket
from kb.engine.ports import ClaimLost, Store
from kb.engine.wiring import EngineOptions, open_engine

NAME = hashlib.sha256(b"content").hexdigest()
LONG_AFTER = GRACE * 2


@dataclass(frozen=True)
class Place:
    """Originals, and a way to them behind their back."""

    originals: Originals
    write: Callable[[str, bytes], object]
    """Something else into the file or the object that is the original."""
    remove: Callable[[str], object]
    clock: Clock = field(default_factory=Clock)


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "folder":
        folder = FolderOriginals(tmp_path / "originals")
        yield Place(
            folder,
            lambda name, content: folder.path_of(name).write_bytes(content),
            lambda n: folder.path_of(n).unlink(),
        )
        return
    seaweedfs: SeaweedFs = request.getfixturevalue("seaweedfs")
    bucket, clock = seaweedfs.new_place(), Clock()
    objects = seaweedfs.connect(bucket)
    with open_bucket(bucket, tmp_path / "transit", clock=clock) as originals:
        yield Place(
            originals,
            lambda name, content: obstore.put(objects, list_copies(objects, name)[-1], content),
            lambda name: obstore.delete(objects, list_copies(objects, name)),
            clock,
        )


# Of more parts than are sent at once, and with a rest.
@pytest.mark.parametrize(
    "content", [b"content", b"0123456789abcdef" * (3 * PART_BYTES // 16) + b"rest"], ids=["small", "large"]
)
def test_what_was_kept_comes_back(place: Place, content: bytes) -> None:
    name = keep(place.originals, content)

    with place.originals.open_file(name) as path:
        as_file = path.read_bytes()
    opened = place.originals.open_pieces(name)

    assert name == hashlib.sha256(content).hexdigest()
    assert as_file == content
    assert b"".join(opened.pieces) == content
    assert opened.size_bytes == place.originals.check(name) == len(content)


def test_an_upload_that_is_not_kept_is_nothing(place: Place, tmp_path: Path) -> None:
    with place.originals.receive() as incoming:
        incoming.write(b"content")
        name = incoming.finish()

    assert not is_kept(place.originals, name)
    assert not incoming.path.exists()


def test_the_same_content_is_the_same_original(place: Place) -> None:
    assert keep(place.originals, b"content") == keep(place.originals, b"content") == NAME

    place.clock.ahead = LONG_AFTER
    place.originals.release([NAME], nothing)

    assert not is_kept(place.originals, NAME)


@pytest.mark.parametrize("damage", [b"c0ntent", b"cont", b"content and more"], ids=["changed", "short", "long"])
def test_a_damaged_original_is_noticed_and_repaired_by_adding_it_again(place: Place, damage: bytes) -> None:
    keep(place.originals, b"content")
    place.write(NAME, damage)

    with pytest.raises(DamagedOriginal, match="is not what was uploaded"):
        place.originals.check(NAME)
    keep(place.originals, b"content")

    assert place.originals.check(NAME) == len(b"content")
    assert b"".join(place.originals.open_pieces(NAME).pieces) == b"content"


def test_what_is_missing_is_told_as_missing(place: Place) -> None:
    for attempt in (place.originals.check, place.originals.renew, place.originals.open_pieces, open_briefly(place)):
        with pytest.raises(MissingOriginal):
            attempt(NAME)


def open_briefly(place: Place) -> Callable[[str], None]:
    def open_and_close(name: str) -> None:
        with place.originals.open_file(name):
            pass

    return open_and_close


UNSAFE_NAMES = [
    "",
    "base",
    "../base",
    "\0",
    NAME.upper(),
    NAME[:-1],
    f"{NAME}\n",
    f"{NAME}\0/../x",
    f"{NAME}/../x",
    "\u0661" * 64,
]


@pytest.mark.parametrize("name", [*UNSAFE_NAMES, "absolute", NAME.encode()])
def test_a_name_that_is_not_a_digest_opens_no_file(place: Place, tmp_path: Path, name: Any) -> None:
    """E31: a damaged or forged row may contain any name."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"content")
    name = str(outside) if name == "absolute" else name
    keep(place.originals, b"content")
    place.clock.ahead = LONG_AFTER

    for attempt in (place.originals.check, place.originals.renew, place.originals.open_pieces, open_briefly(place)):
        with pytest.raises(UnsafeName):
            attempt(name)
    with place.originals.receive() as incoming, place.originals.locked():
        incoming.finish()
        with pytest.raises(UnsafeName):
            place.originals.keep(incoming, name)
    assert place.originals.release([name], nothing) == 0

    assert outside.read_bytes() == b"content"
    assert is_kept(place.originals, NAME)


def test_an_original_that_was_lost_comes_back_by_adding_it_again(place: Place) -> None:
    keep(place.originals, b"content")
    place.remove(NAME)
    assert not is_kept(place.originals, NAME)

    keep(place.originals, b"content")

    assert is_kept(place.originals, NAME)


def test_renewing_tells_the_size_and_refuses_what_is_damaged(place: Place) -> None:
    keep(place.originals, b"content")
    assert place.originals.renew(NAME) == len(b"content")
    assert is_kept(place.originals, NAME)

    place.write(NAME, b"c0ntent")

    with pytest.raises(DamagedOriginal):
        place.originals.renew(NAME)


def test_only_what_nothing_refers_to_is_released(place: Place) -> None:
    used, unused = keep(place.originals, b"used"), keep(place.originals, b"unused")
    place.clock.ahead = LONG_AFTER

    freed = place.originals.release([used, unused], lambda name: name == used)

    assert freed == len(b"unused")
    assert is_kept(place.originals, used)
    assert not is_kept(place.originals, unused)


def test_all_that_nothing_refers_to_can_be_released(place: Place) -> None:
    names = [keep(place.originals, content) for content in (b"one", b"two", b"three")]
    place.originals.belong_to("the base")
    place.clock.ahead = LONG_AFTER

    freed = place.originals.release_all(lambda name: name == names[0])

    assert freed == len(b"twothree")
    assert [is_kept(place.originals, name) for name in names] == [True, False, False]
    place.originals.belong_to("the base")


def use_for_a_while(originals: Originals, users: "Users", contents: Sequence[bytes], seed: int) -> None:
    """Refer to originals, and no longer: as engines do, without a word to one another."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated
    while not users.stopping.is_set():
        content = chance.choice(contents)
        name = hashlib.sha256(content).hexdigest()
        with originals.locked():
            kept = keep_in(originals, content)
            users.stopping.wait(chance.random() / 20)
            users.add(name)
        if not is_kept(originals, kept):
            users.lost.append(name)
        users.stopping.wait(chance.random() / 2)
        users.drop(name)
        users.freed_bytes += originals.release([name], users.is_in_use)


def keep_in(originals: Originals, content: bytes) -> str:
    with originals.receive() as incoming:
        incoming.write(content)
        name = incoming.finish()
        originals.keep(incoming, name)
    return name


class Users:
    """What a base knows: how many refer to each original."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.lost: list[str] = []
        self.freed_bytes = 0
        self._count: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        with self._lock:
            self._count[name] = self._count.get(name, 0) + 1

    def drop(self, name: str) -> None:
        with self._lock:
            self._count[name] -= 1

    def is_in_use(self, name: str) -> bool:
        with self._lock:
            return self._count.get(name, 0) > 0


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_many_hosts_at_once_lose_nothing(tmp_path: Path, kind: str, bucket: Bucket) -> None:
    """On S3 with a grace of three seconds instead of an hour, so that much is removed."""
    users, contents = Users(), [f"content {number}".encode() for number in range(4)]
    with ExitStack() as stack:
        hosts: list[Originals] = (
            [FolderOriginals(tmp_path / "originals") for _ in range(4)]
            if kind == "folder"
            else [
                stack.enter_context(
                    open_bucket(bucket, tmp_path / str(host), clock=Clock(GRACE - timedelta(seconds=3)))
                )
                for host in range(4)
            ]
        )
        threads = [
            threading.Thread(target=use_for_a_while, args=(host, users, contents, seed))
            for seed, host in enumerate(hosts)
        ]
        for thread in threads:
            thread.start()
        users.stopping.wait(1 if kind == "folder" else 6)
        users.stopping.set()
        for thread in threads:
            thread.join()

        assert users.lost == []
        # Else nothing could have been lost.
        assert users.freed_bytes > 0


def test_i4_whoever_no_longer_wants_an_original_need_not_wait_for_all_of_it(bucket: Bucket, tmp_path: Path) -> None:
    def cancel() -> None:
        raise ClaimLost

    with open_bucket(bucket, tmp_path) as originals:
        name = keep(originals, b"0123456789abcdef" * (2 * PIECE_BYTES // 16))
        with pytest.raises(ClaimLost), originals.open_file(name, cancel):
            pass
        with pytest.raises(ClaimLost):
            originals.check(name, cancel)


def test_a_base_goes_on_with_the_place_of_its_originals_with_which_it_began(
    bucket: Bucket, seaweedfs: SeaweedFs, tmp_path: Path, model_folder: Path, cache_dir: Path
) -> None:
    options = EngineOptions(tmp_path, model_folder, cache_dir / "graphs", max_file_bytes=1, bucket=bucket)
    with open_engine(options):
        pass
    mistyped = seaweedfs.new_place()

    for elsewhere in (None, mistyped):
        with pytest.raises(Conflict, match="are not in"), open_engine(replace(options, bucket=elsewhere)):
            pass

    assert list_copies(seaweedfs.connect(mistyped), "") == []
    with open_engine(options):
        pass


def test_a_base_whose_originals_are_in_its_folder_is_not_looked_for_in_a_bucket(
    bucket: Bucket, tmp_path: Path, model_folder: Path, cache_dir: Path
) -> None:
    keep(FolderOriginals(tmp_path / "originals"), b"content")
    options = EngineOptions(tmp_path, model_folder, cache_dir / "graphs", max_file_bytes=1, bucket=bucket)

    with pytest.raises(Conflict, match="but there are originals in"), open_engine(options):
        pass


def test_originals_of_another_base_are_refused(place: Place) -> None:
    """A base that knows nothing of them would take all of them for strays."""
    place.originals.belong_to("the base")
    place.originals.belong_to("the base")

    with pytest.raises(Conflict, match="belong to another base"):
        place.originals.belong_to("another base")


def test_a_base_has_an_id_that_stays_and_that_no_other_has(store: Store, other_store: Store, tmp_path: Path) -> None:
    with closing(SqliteBackend(tmp_path).open()) as another:
        assert store.read_base_id() == other_store.read_base_id() != another.read_base_id()
