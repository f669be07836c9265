"""What every embedder of the bundled model promises; the reference is sentence-transformers' own output."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.embedding import bundled_model_folder, fetch_bundled_model, open_embedder, read_model
from kb.engine.embedding.onnx import BATCH_TOKENS, CHARACTERS_AT_ONCE, make_batches
from kb.engine.embedding.weights import WEIGHTS_FILE
from kb.engine.errors import Unavailable
from kb.engine.model import Vectors
from kb.engine.ports import Embedder

REFERENCE = Path(__file__).parent / "embedding_reference"


@pytest.fixture(scope="module")
def texts() -> list[str]:
    content: list[str] = json.loads((REFERENCE / "texts.json").read_text())
    return content


@pytest.fixture(scope="module")
def vectors(embedder: Embedder, texts: list[str]) -> Vectors:
    return embedder.embed_passages(texts)


def test_vectors_agree_with_the_reference(vectors: Vectors) -> None:
    reference = np.load(REFERENCE / "vectors.npy")

    agreement = np.sum(vectors * reference, axis=1)

    assert agreement.min() >= 0.9999


def test_vectors_have_unit_length(vectors: Vectors) -> None:
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_text_has_the_same_vector_in_whatever_company(embedder: Embedder, texts: list[str], vectors: Vectors) -> None:
    order = list(reversed(range(0, len(texts), 5)))

    shuffled = embedder.embed_passages([texts[index] for index in order])

    np.testing.assert_allclose(shuffled, vectors[order], atol=1e-5)


def test_a_query_has_the_vector_of_the_same_passage(embedder: Embedder, texts: list[str], vectors: Vectors) -> None:
    np.testing.assert_allclose(embedder.embed_query(texts[13]), vectors[13], atol=1e-5)


def test_a_query_that_is_asked_again_is_not_embedded_again(embedder: Embedder) -> None:
    first = embedder.embed_query("where is the ferry?")

    assert embedder.embed_query("Where  is the ferry?") is first
    assert not first.flags.writeable
    assert embedder.embed_query("where was the ferry?") is not first


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.model.dimension)


def test_an_empty_text_has_a_vector_and_no_tokens(embedder: Embedder) -> None:
    assert np.isfinite(embedder.embed_query("")).all()
    assert embedder.token_spans("") == []


def test_threads_do_not_disturb_one_another(embedder: Embedder, texts: list[str], vectors: Vectors) -> None:
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda _: embedder.embed_passages(texts[:16]), range(8)))

    for result in results:
        np.testing.assert_allclose(result, vectors[:16], atol=1e-5)


def test_vectors_are_the_same_in_however_many_lanes_they_are_made(
    model_folder: Path, cache_dir: Path, texts: list[str], vectors: Vectors
) -> None:
    in_lanes = open_embedder(model_folder, cache_dir / "graphs", threads=1, lanes=3)

    np.testing.assert_allclose(in_lanes.embed_passages(texts), vectors, atol=1e-5)


@given(st.lists(st.integers(1, 256)))
def test_every_text_is_in_one_batch_and_no_batch_is_too_large_for_the_caches(lengths: list[int]) -> None:
    batches = make_batches(lengths)

    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * max(lengths[place] for place in batch) <= BATCH_TOKENS


def test_text_beyond_the_window_is_not_seen(embedder: Embedder) -> None:
    seen = "river " * (embedder.model.window - 2)

    np.testing.assert_allclose(embedder.embed_query(seen + "volcano " * 100), embedder.embed_query(seen), atol=1e-5)


def test_text_up_to_the_window_is_seen(embedder: Embedder) -> None:
    within = "river " * (embedder.model.window - 3)

    difference = embedder.embed_query(within + "volcano") - embedder.embed_query(within + "river")

    assert np.abs(difference).max() > 1e-3


def test_token_spans_are_places_in_the_text(embedder: Embedder) -> None:
    text = "Naïve 🚀 café,\n东京 unbelievably"

    pieces = [text[begin:end] for begin, end in embedder.token_spans(text)]

    assert pieces == ["Naïve", "🚀", "café", ",", "东", "京", "un", "bel", "ie", "va", "bly"]


def test_token_spans_cover_the_whole_of_a_long_text(embedder: Embedder) -> None:
    sentence = "The ferry leaves at nine. "
    text = sentence * (3 * CHARACTERS_AT_ONCE // len(sentence))

    spans = embedder.token_spans(text)

    one = embedder.token_spans(sentence)
    assert spans == [(start + begin, start + end) for start in range(0, len(text), len(sentence)) for begin, end in one]


def test_token_spans_of_an_unbroken_text_end_where_it_ends(embedder: Embedder) -> None:
    text = "京" * (CHARACTERS_AT_ONCE + 10)

    spans = embedder.token_spans(text)

    assert spans == [(index, index + 1) for index in range(len(text))]


def test_the_model_is_described_without_being_loaded(model_folder: Path) -> None:
    model = read_model(model_folder)

    assert (model.name, model.dimension, model.window) == ("all-MiniLM-L6-v2", 384, 256)
    assert model.fingerprint == "all-MiniLM-L6-v2-53aa51172d14-fp32"


def test_the_model_can_be_fetched_from_a_folder(tmp_path: Path, model_folder: Path) -> None:
    fetched = fetch_bundled_model(tmp_path, model_folder)

    assert fetched == bundled_model_folder(tmp_path)
    assert read_model(fetched) == read_model(model_folder)
    assert [path.name for path in fetched.parent.iterdir()] == [fetched.name]


def test_a_damaged_model_in_the_cache_is_fetched_anew(tmp_path: Path, model_folder: Path) -> None:
    fetched = fetch_bundled_model(tmp_path, model_folder)
    (fetched / "tokenizer.json").write_text("{}")

    fetch_bundled_model(tmp_path, model_folder)

    assert (fetched / "tokenizer.json").read_bytes() == (model_folder / "tokenizer.json").read_bytes()
    assert [path.name for path in fetched.parent.iterdir()] == [fetched.name]


@pytest.mark.parametrize("damage", ["cut", "blanked"])
def test_a_damaged_graph_is_made_anew(tmp_path: Path, model_folder: Path, damage: str) -> None:
    open_embedder(model_folder, tmp_path, threads=1)
    (graph,) = tmp_path.iterdir()
    whole = graph.read_bytes()
    half = len(whole) // 2
    graph.write_bytes(whole[:half] + (bytes(len(whole) - half) if damage == "blanked" else b""))

    embedder = open_embedder(model_folder, tmp_path, threads=1)

    assert embedder.is_ready
    assert graph.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [graph]


def test_two_starts_may_make_the_graph_at_once(tmp_path: Path, model_folder: Path) -> None:
    with ThreadPoolExecutor(2) as starting:
        embedders = list(starting.map(lambda _: open_embedder(model_folder, tmp_path, threads=1), range(2)))

    assert len({embedder.embed_query("ferry").tobytes() for embedder in embedders}) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_model_without_weights_is_said_to_be_incomplete(tmp_path: Path, model_folder: Path) -> None:
    copy = shutil.copytree(model_folder, tmp_path / "model", ignore=shutil.ignore_patterns(WEIGHTS_FILE))

    with pytest.raises(Unavailable, match="not complete"):
        read_model(copy)
