"""The embedder that runs a graph, the graph itself, and the files that it is made of."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.embedding import bundled_model_folder, fetch_bundled_model, open_embedder, read_model
from kb.engine.embedding.onnx import BATCH_TOKENS, make_batches
from kb.engine.embedding.weights import WEIGHTS_FILE
from kb.engine.errors import Unavailable
from kb.engine.ports import Embedder


def test_vectors_are_the_same_however_many_batches_are_made_at_once(
    embedder: Embedder, model_folder: Path, cache_dir: Path
) -> None:
    texts = [f"The ferry leaves at {hour}. " * (hour % 5 + 1) for hour in range(24)]
    side_by_side = open_embedder(model_folder, cache_dir / "graphs", threads=1, batches_at_once=3)

    np.testing.assert_allclose(side_by_side.embed_passages(texts), embedder.embed_passages(texts), atol=1e-5)


@given(st.lists(st.integers(1, 256)))
def test_every_text_is_in_one_batch_and_no_batch_is_too_large_for_the_caches(lengths: list[int]) -> None:
    batches = make_batches(lengths)

    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * max(lengths[place] for place in batch) <= BATCH_TOKENS


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
    # By another name, every installation would make it once more.
    assert [graph.name for graph in tmp_path.iterdir()] == ["all-MiniLM-L6-v2-821af2ef5cb62cf5-v1.onnx"]


def test_what_a_model_wants_in_front_of_queries_and_passages_is_put_there(
    embedder: Embedder, model_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(model_folder, tmp_path / "model", copy_function=os.symlink)
    prompts = {"query": "question: ", "document": "", "passage": "text: "}
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))

    with_prompts = open_embedder(folder, tmp_path / "graphs", threads=1)

    expected = embedder.embed_passages(["question: where?", "text: there"])
    np.testing.assert_allclose(with_prompts.embed_query("where?"), expected[0], atol=1e-6)
    np.testing.assert_allclose(with_prompts.embed_passages(["there"])[0], expected[1], atol=1e-6)
    assert with_prompts.model.prompt_tokens == 2
    digest = "model-53aa51172d14-"
    assert with_prompts.model.fingerprint.startswith(digest)
    assert with_prompts.model.fingerprint != f"{digest}fp32"


def test_a_model_without_weights_is_said_to_be_incomplete(tmp_path: Path, model_folder: Path) -> None:
    copy = shutil.copytree(model_folder, tmp_path / "model", ignore=shutil.ignore_patterns(WEIGHTS_FILE))

    with pytest.raises(Unavailable, match="not complete"):
        read_model(copy)
