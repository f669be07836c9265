import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import TypeAlias

import numpy as np
import pytest

from kb.engine.embedding import LoadingEmbedder, loading
from kb.engine.embedding.devices import DeviceLost
from kb.engine.errors import Unavailable
from kb.engine.model import Computing, EmbeddingModel, Vector, Vectors
from kb.engine.ports import Embedder

MODEL = EmbeddingModel(name="tiny", dimension=2, window=4, fingerprint="tiny-1")

Load: TypeAlias = Callable[[Callable[[], Embedder]], LoadingEmbedder]


class TinyEmbedder:
    model = MODEL
    is_ready = True
    failure = None
    computing = Computing()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.ones((len(texts), 2), np.float32)

    def embed_query(self, text: str) -> Vector:
        return np.ones(2, np.float32)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]


@pytest.fixture
def gate() -> Event:
    return Event()


@pytest.fixture
def load(gate: Event) -> Iterator[Load]:
    """Begins to load a model; stops trying when the test ends, so that no later one has a thread beside it."""
    loading_embedders: list[LoadingEmbedder] = []

    def begin(open_embedder: Callable[[], Embedder]) -> LoadingEmbedder:
        loading_embedders.append(LoadingEmbedder(MODEL, open_embedder))
        return loading_embedders[-1]

    yield begin
    gate.set()
    for embedder in loading_embedders:
        embedder.close()


def open_when(gate: Event) -> Embedder:
    gate.wait(10)
    return TinyEmbedder()


def wait_until_ready(embedder: LoadingEmbedder) -> None:
    while not embedder.is_ready:
        time.sleep(0.001)


def fail_with(error: Exception) -> Embedder:
    raise error


def test_the_model_is_known_before_it_is_loaded(load: Load, gate: Event) -> None:
    embedder = load(lambda: open_when(gate))

    assert embedder.model == MODEL
    assert not embedder.is_ready
    assert embedder.failure is None


def test_embedding_waits_until_the_model_is_loaded(load: Load, gate: Event) -> None:
    embedder = load(lambda: open_when(gate))

    gate.set()

    assert embedder.embed_passages(["a", "b"]).shape == (2, 2)
    assert embedder.embed_query("a").shape == (2,)
    assert embedder.token_spans("abc") == [(0, 3)]
    assert embedder.is_ready
    assert embedder.failure is None


def test_a_model_that_takes_too_long_is_unavailable(load: Load, gate: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "LONGEST_WAIT_SECONDS", 0.01)
    embedder = load(lambda: open_when(gate))

    with pytest.raises(Unavailable, match="still being loaded"):
        embedder.embed_query("a")


def test_a_reason_meant_for_people_is_passed_on(load: Load) -> None:
    embedder = load(lambda: fail_with(Unavailable("The weights are damaged.")))

    with pytest.raises(Unavailable, match="The weights are damaged"):
        embedder.embed_query("a")

    assert embedder.failure == "The weights are damaged."
    assert not embedder.is_ready


def test_an_unforeseen_failure_is_logged_whole_and_told_without_details(
    load: Load,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        embedder = load(lambda: fail_with(RuntimeError("/secret/path")))
        with pytest.raises(Unavailable, match="log says why"):
            embedder.token_spans("a")

    assert embedder.failure is not None
    assert "secret" not in embedder.failure
    assert "/secret/path" in caplog.text


def test_a_timeout_while_loading_is_a_failure_and_not_a_wait(load: Load) -> None:
    embedder = load(lambda: fail_with(TimeoutError("disk")))

    with pytest.raises(Unavailable, match="log says why"):
        embedder.embed_query("a")


def test_a_model_that_did_not_load_is_tried_again(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "TRY_AGAIN_AFTER_SECONDS", 0.01)
    attempts = iter([Unavailable("The disk is full."), None])
    loaded = Event()

    def open_at_second_try() -> Embedder:
        error = next(attempts)
        if error is not None:
            raise error
        loaded.set()
        return TinyEmbedder()

    embedder = load(open_at_second_try)

    assert loaded.wait(10)
    wait_until_ready(embedder)
    assert embedder.failure is None
    assert embedder.embed_query("a").shape == (2,)


def test_another_model_than_that_of_the_start_is_not_used_under_its_name(load: Load) -> None:
    """E28: as when its files were still being copied then."""

    class AnotherEmbedder(TinyEmbedder):
        model = replace(MODEL, fingerprint="tiny-2")

    embedder = load(AnotherEmbedder)

    with pytest.raises(Unavailable, match="changed since the start"):
        embedder.embed_query("a")


def test_what_keeps_a_model_from_loading_is_logged_once(
    load: Load, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loading, "TRY_AGAIN_AFTER_SECONDS", 0.001)
    attempts = iter([Unavailable("No weights.")] * 3 + [Unavailable("The disk is full.")] * 3)

    def open_at_last() -> Embedder:
        error = next(attempts, None)
        if error is not None:
            raise error
        return TinyEmbedder()

    wait_until_ready(load(open_at_last))

    assert caplog.messages == ["The embedding model could not be loaded."] * 2


class FailingEmbedder(TinyEmbedder):
    """Computes on a device that has failed since it was opened."""

    computing = Computing("cuda")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        raise DeviceLost("The device has failed.")


def test_what_a_model_computes_on_is_told_once_it_is_loaded(load: Load) -> None:
    embedder = load(FailingEmbedder)

    embedder.token_spans("a")

    assert embedder.computing == Computing("cuda")


def test_a_model_whose_device_has_failed_is_opened_anew_and_once(load: Load) -> None:
    opened: list[TinyEmbedder] = []

    def open_another() -> Embedder:
        opened.append(FailingEmbedder() if not opened else TinyEmbedder())
        return opened[-1]

    embedder = load(open_another)
    with ThreadPoolExecutor(4) as threads:
        attempts = [threads.submit(embedder.embed_passages, ["a"]) for _ in range(4)]

    # Who came after it was opened anew has got vectors.
    failures = [attempt.exception() for attempt in attempts if attempt.exception() is not None]
    assert failures
    assert all(isinstance(failure, DeviceLost) for failure in failures)
    assert embedder.embed_passages(["a"]).shape == (1, 2)
    assert embedder.computing == Computing("cpu")
    assert len(opened) == 2


def test_a_reason_of_before_is_not_told_while_a_model_is_opened_anew(
    load: Load, gate: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "TRY_AGAIN_AFTER_SECONDS", 0.01)
    attempts: list[Callable[[], Embedder]] = [
        lambda: fail_with(Unavailable("The disk is full.")),
        FailingEmbedder,
        lambda: open_when(gate),
    ]
    embedder = load(lambda: attempts.pop(0)())
    wait_until_ready(embedder)

    with pytest.raises(DeviceLost):
        embedder.embed_passages(["a"])

    assert not embedder.is_ready
    assert embedder.failure is None


def test_nothing_is_opened_anew_after_the_end(load: Load) -> None:
    embedder = load(FailingEmbedder)
    embedder.token_spans("a")
    embedder.close()

    for _ in range(2):
        with pytest.raises(DeviceLost):
            embedder.embed_passages(["a"])
