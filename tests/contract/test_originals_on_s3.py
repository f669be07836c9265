"""Originals on an S3 server: no lock reaches all hosts, and none of them loses what another counts on."""

import hashlib
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.originals import Clock, everything, is_kept, keep, list_copies, nothing
from tests.servers.seaweedfs import SeaweedFs

from kb.engine.errors import Conflict, Unavailable, Unreachable
from kb.engine.originals import Bucket, open_originals
from kb.engine.originals.bucket import GRACE, OWNER, BucketOriginals, open_bucket

NAME = hashlib.sha256(b"content").hexdigest()
LONG_AFTER = GRACE * 2


@pytest.fixture
def objects(seaweedfs: SeaweedFs, bucket: Bucket) -> S3Store:
    return seaweedfs.connect(bucket)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def on_s3(bucket: Bucket, tmp_path: Path, clock: Clock) -> Iterator[BucketOriginals]:
    with open_bucket(bucket, tmp_path / "transit", clock=clock) as originals:
        yield originals


@pytest.fixture
def other_host(bucket: Bucket, tmp_path: Path) -> Iterator[BucketOriginals]:
    """The same bucket, and no disk in common."""
    with open_bucket(bucket, tmp_path / "other" / "transit") as originals:
        yield originals


def test_a_young_copy_stays_until_it_is_swept(on_s3: BucketOriginals, clock: Clock) -> None:
    """Whoever wrote it may be about to refer to it."""
    keep(on_s3, b"content")

    assert on_s3.release([NAME], nothing) == 0
    on_s3.remove_strays(nothing)
    assert is_kept(on_s3, NAME)

    clock.ahead = LONG_AFTER
    on_s3.remove_strays(nothing)
    assert not is_kept(on_s3, NAME)


def test_of_several_copies_the_newest_stays(on_s3: BucketOriginals, objects: S3Store, clock: Clock) -> None:
    for _ in range(3):
        keep(on_s3, b"content")
    newest = list_copies(objects, NAME)[-1]
    clock.ahead = LONG_AFTER

    on_s3.remove_strays(everything)

    assert list_copies(objects, NAME) == [newest]
    assert is_kept(on_s3, NAME)


def test_another_base_below_the_prefix_keeps_its_objects(
    on_s3: BucketOriginals, bucket: Bucket, tmp_path: Path, clock: Clock
) -> None:
    """The prefix of the other base may end like the name of an original."""
    below = replace(bucket, url=f"{bucket.url}/{NAME}")
    with open_bucket(below, tmp_path / "below" / "transit") as others:
        others.belong_to("theirs")
        keep(others, b"content")
        clock.ahead = LONG_AFTER

        on_s3.release([NAME], nothing)
        on_s3.release_all(nothing)
        on_s3.remove_strays(nothing)

        assert is_kept(others, NAME)
        assert not is_kept(on_s3, NAME)
        with pytest.raises(Conflict, match="belong to another base"):
            others.belong_to("ours")


def test_owner_that_is_not_text_is_another_base(on_s3: BucketOriginals, objects: S3Store) -> None:
    obstore.put(objects, OWNER, b"\xff")

    with pytest.raises(Conflict, match="belong to another base"):
        on_s3.belong_to("ours")


def test_what_is_old_is_looked_at_once_a_day(on_s3: BucketOriginals, clock: Clock) -> None:
    """Asking the base about every original there is, each hour, would take longer than that."""
    keep(on_s3, b"content")
    asked: list[str] = []

    def ask(name: str) -> bool:
        asked.append(name)
        return True

    for hours in (0, 23, 25, 48, 50):
        clock.ahead = timedelta(hours=hours)
        on_s3.remove_strays(ask)

    # When it begins, while it is recent, as one of all, and as one of all a day later.
    assert len(asked) == 4


@pytest.mark.parametrize("how", ["added", "renewed"])
def test_what_another_host_keeps_during_a_deletion_is_not_lost(
    on_s3: BucketOriginals, other_host: BucketOriginals, objects: S3Store, clock: Clock, how: str
) -> None:
    """It comes between a deletion's last question and what the deletion does then."""
    keep(on_s3, b"content")
    (old,) = list_copies(objects, NAME)

    def answer_too_early(name: str) -> bool:
        if how == "added":
            keep(other_host, b"content")
        else:
            other_host.renew(name)
        return False

    clock.ahead = LONG_AFTER
    on_s3.release_all(answer_too_early)

    assert old not in list_copies(objects, NAME)
    assert is_kept(other_host, NAME)


def test_a_server_that_is_down_is_told_and_used_again_when_it_is_back(
    seaweedfs: SeaweedFs, on_s3: BucketOriginals, clock: Clock
) -> None:
    keep(on_s3, b"content")
    seaweedfs.stop()
    try:
        for attempt in (
            lambda: keep(on_s3, b"other content"),
            lambda: on_s3.check(NAME),
            lambda: on_s3.belong_to("the base"),
            lambda: on_s3.remove_strays(nothing),
        ):
            with pytest.raises(Unreachable, match="Check that it runs, and KB_S3_ENDPOINT"):
                attempt()
        # The documents are gone; their files follow later.
        assert on_s3.release([NAME], nothing) == on_s3.release_all(nothing) == 0
    finally:
        seaweedfs.start()

    assert is_kept(on_s3, NAME)
    clock.ahead = LONG_AFTER
    on_s3.remove_strays(nothing)
    assert not is_kept(on_s3, NAME)


def test_a_key_that_is_refused_and_a_bucket_that_is_not_there_are_told_apart(bucket: Bucket, tmp_path: Path) -> None:
    with open_originals(tmp_path, replace(bucket, access_key="another")) as originals:
        with pytest.raises(Unreachable, match="KB_S3_ACCESS_KEY"):
            keep(originals, b"content")
        with pytest.raises(Unreachable, match="KB_S3_ACCESS_KEY"):
            originals.check(NAME)
    with (
        open_originals(tmp_path, replace(bucket, url="s3://not-there/at-all")) as originals,
        pytest.raises(Unreachable, match="KB_ORIGINALS_URL"),
    ):
        originals.check(NAME)


def test_what_the_environment_says_of_aws_is_not_mixed_with_the_settings(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "another")
    for name in ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    with open_originals(tmp_path, bucket) as originals:
        assert is_kept(originals, keep(originals, b"content"))


def test_files_on_their_way_go_with_the_process_that_has_them(bucket: Bucket, tmp_path: Path) -> None:
    transit = tmp_path / "transit"
    with open_bucket(bucket, transit) as living, living.receive() as incoming:
        (transit / "of-a-killed-process").mkdir()
        (transit / "of-a-killed-process" / "upload").touch()

        with open_bucket(bucket, transit):
            assert not (transit / "of-a-killed-process").exists()
            assert incoming.path.exists()

    assert [path.name for path in transit.iterdir()] == ["lock"]


def test_answer_of_the_server_is_not_logged(bucket: Bucket, tmp_path: Path) -> None:
    """E2: many servers quote the request that they refuse, with the name of the key."""

    def refuse(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        return 403, f"<Error><Message>{headers['authorization']}</Message></Error>".encode()

    with (
        scripted_engine(refuse) as url,
        open_bucket(replace(bucket, endpoint=url, access_key="name-of-the-key"), tmp_path / "transit") as originals,
        pytest.raises(Unreachable) as caught,
    ):
        originals.check(NAME)

    logged = "".join(traceback.format_exception(caught.value))
    assert "refuses the key" in logged
    assert "status code: 403" in logged
    assert "name-of-the-key" not in logged


def test_without_the_client_it_is_told_how_to_install_it(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "kb.engine.originals.bucket")
    monkeypatch.setitem(sys.modules, "obstore", None)

    with pytest.raises(Unavailable, match=r"pip install 'kb-local\[s3\]'"), open_originals(tmp_path, bucket):
        pass
