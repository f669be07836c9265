"""What every embedder of the bundled model promises; the reference is sentence-transformers' own output.

Here it is kept by ONNX Runtime, and by sentence-transformers in `tests/gpu`.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kb.engine.embedding.tokenizing import CHARACTERS_AT_ONCE
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
