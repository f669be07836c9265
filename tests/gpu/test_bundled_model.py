"""What every embedder of the bundled model promises, kept by sentence-transformers; and that it is the same model."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tests.contract.test_embedder import *  # noqa: F403  each test there is one here
from tests.contract.test_embedder import REFERENCE
from tests.gpu.conftest import Observed, open_on_torch

from kb.engine.embedding import open_embedder
from kb.engine.embedding.onnx import OnnxEmbedder
from kb.engine.errors import Unavailable
from kb.engine.model import Vectors
from kb.engine.ports import Embedder


def test_vectors_are_those_of_onnx_runtime_under_the_same_fingerprint(
    embedder: Embedder, vectors: Vectors, texts: list[str], model_folder: Path, cache_dir: Path
) -> None:
    on_onnx = open_embedder(model_folder, cache_dir / "graphs", threads=2)

    np.testing.assert_allclose(vectors[::4], on_onnx.embed_passages(texts[::4]), atol=1e-6)
    np.testing.assert_allclose(vectors, np.load(REFERENCE / "vectors.npy"), atol=1e-6)
    assert embedder.model == on_onnx.model


def test_a_model_that_sentence_transformers_has_saved_runs_on_onnx_runtime_too(
    embedder: Embedder, texts: list[str], model_folder: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    SentenceTransformer(str(model_folder), device="cpu").save(str(saved), create_model_card=False)

    on_onnx = open_embedder(saved, tmp_path / "graphs", threads=2)

    assert isinstance(on_onnx, OnnxEmbedder)
    assert on_onnx.model.window == embedder.model.window
    np.testing.assert_allclose(on_onnx.embed_passages(texts[::4]), embedder.embed_passages(texts[::4]), atol=1e-6)


def test_a_model_of_which_torch_would_make_other_tokens_is_left_to_onnx_runtime(
    model_folder: Path, tmp_path: Path
) -> None:
    """Both have to give the same vectors. Where nothing says otherwise, the libraries have a BERT read lower case."""
    folder = shutil.copytree(model_folder, tmp_path / "cased")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))

    with pytest.raises(Unavailable, match=r"other tokens than its tokenizer\.json"):
        open_on_torch(folder)


def test_a_model_with_prompts_gives_the_same_vectors_on_both(model_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(model_folder, tmp_path / "model")
    prompts = {"query": "question: ", "passage": "text: "}
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    on_onnx = open_embedder(folder, tmp_path / "graphs", threads=1)

    on_torch = open_on_torch(folder)

    assert on_torch.model == on_onnx.model
    np.testing.assert_allclose(on_torch.embed_query("where?"), on_onnx.embed_query("where?"), atol=1e-6)
    there = ["there", "or not"]
    np.testing.assert_allclose(on_torch.embed_passages(there), on_onnx.embed_passages(there), atol=1e-6)


def test_products_are_computed_in_full_precision(embedder: Embedder) -> None:
    assert embedder.computing.device == "cpu"
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cudnn.allow_tf32


def test_nobody_is_asked_for_anything_while_a_model_is_opened_and_used(observed: Observed) -> None:
    """D3"""
    assert observed.calls_out == []
