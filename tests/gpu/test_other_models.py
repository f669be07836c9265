"""Models that ONNX Runtime cannot run here, and devices that torch does not have or loses."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from tests.gpu.conftest import PROMPTS, SENTENCES

from kb.engine.embedding import open_embedder, read_model
from kb.engine.embedding.devices import DeviceLost, find_device
from kb.engine.embedding.sentence_transformers import BATCH_ON_PROCESSOR, translated_errors
from kb.engine.embedding.weights import WEIGHTS_FILE
from kb.engine.errors import Unavailable
from kb.engine.ingestion.chunking import split_into_passages
from kb.engine.ingestion.indexing import SPECIAL_TOKENS, chunk_tokens, in_context
from kb.engine.ingestion.sections import Section
from kb.engine.model import Computing, WantedDevice
from kb.engine.ports import Embedder

Limit = Callable[[int], None]


def change_json(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


@pytest.fixture(scope="module")
def other(other_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return open_embedder(other_folder, tmp_path_factory.mktemp("graphs"), threads=2)


@pytest.fixture
def limit_memory(monkeypatch: pytest.MonkeyPatch) -> Limit:
    """Has the device hold so many texts at a time."""
    forward = SentenceTransformer.forward

    def limit(texts: int) -> None:
        def forward_if_it_fits(network: Any, features: dict[str, Any], **more: Any) -> Any:
            if len(features["input_ids"]) > texts:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return forward(network, features, **more)

        monkeypatch.setattr(SentenceTransformer, "forward", forward_if_it_fits)

    return limit


@pytest.fixture
def pretended_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The torch here is not built for one, and fails as soon as it is to use what it pretends to find."""
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)


def test_a_model_of_another_kind_gives_the_vectors_that_its_maker_meant(other: Embedder, other_folder: Path) -> None:
    made = SentenceTransformer(str(other_folder), device="cpu")

    passages, query = other.embed_passages(SENTENCES), other.embed_query(SENTENCES[0])

    expected = made.encode([PROMPTS["document"] + text for text in SENTENCES], normalize_embeddings=True)
    np.testing.assert_allclose(passages, expected, atol=1e-6)
    expected = made.encode(PROMPTS["query"] + SENTENCES[0], normalize_embeddings=True)
    np.testing.assert_allclose(query, expected, atol=1e-6)
    assert np.abs(query - passages[0]).max() > 1e-4


def test_what_its_maker_calls_the_prompt_of_passages_does_not_matter(other_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(other_folder, tmp_path / "tiny-roberta")
    change_json(folder / "config_sentence_transformers.json", prompts={"query": "", "passage": "text: "})

    named = open_embedder(folder, tmp_path, threads=1)

    made = SentenceTransformer(str(other_folder), device="cpu")
    expected = made.encode(["text: " + text for text in SENTENCES], normalize_embeddings=True)
    np.testing.assert_allclose(named.embed_passages(SENTENCES), expected, atol=1e-6)
    assert named.model.prompt_tokens > 0


def test_weights_of_half_precision_are_computed_with_in_full(other_folder: Path, tmp_path: Path) -> None:
    """A base may be shared with machines that have other devices, or none."""
    folders = {}
    for name, dtype in (("half", torch.bfloat16), ("full", torch.float32)):
        folders[name] = shutil.copytree(other_folder, tmp_path / name)
        tensors = load_file(other_folder / WEIGHTS_FILE)
        kept = {key: tensor.to(torch.bfloat16).to(dtype) for key, tensor in tensors.items()}
        save_file(kept, folders[name] / WEIGHTS_FILE, {"format": "pt"})
        change_json(folders[name] / "config.json", dtype=str(dtype).removeprefix("torch."))

    half, full = (open_embedder(folder, tmp_path, threads=1) for folder in folders.values())

    np.testing.assert_allclose(half.embed_passages(SENTENCES), full.embed_passages(SENTENCES), atol=1e-6)


def test_a_model_whose_weights_are_not_all_there_is_refused(other_folder: Path, tmp_path: Path) -> None:
    """What is missing would be made up by chance, and differ from process to process."""
    folder = shutil.copytree(other_folder, tmp_path / "model")
    tensors = load_file(folder / WEIGHTS_FILE)
    renamed = {key.replace("intermediate", "gated"): tensor for key, tensor in tensors.items()}
    save_file(renamed, folder / WEIGHTS_FILE, {"format": "pt"})

    with pytest.raises(Unavailable, match=r"not all there \(4 are missing, such as encoder\.layer\.0\.intermediate"):
        open_embedder(folder, tmp_path, threads=1)


def test_a_model_of_which_the_libraries_would_make_other_tokens_is_refused(other_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(other_folder, tmp_path / "model")
    change_json(folder / "tokenizer.json", normalizer={"type": "Lowercase"})
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "RobertaTokenizer"}))

    with pytest.raises(Unavailable, match=r"other tokens than its tokenizer\.json"):
        open_embedder(folder, tmp_path, threads=1)


def test_a_model_that_sees_less_than_its_files_say_is_refused(
    other_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(other_folder, tmp_path / "model")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 200}))
    assert read_model(folder).window == 160
    # As of one of which it is not known that two of its 162 places are not for text.
    monkeypatch.setattr("kb.engine.embedding.config_files._COUNTS_FROM_PADDING", set())

    with pytest.raises(Unavailable, match="sees 162 tokens at once, and with so many it fails"):
        open_embedder(folder, tmp_path, threads=1)


def test_a_moment_without_memory_while_it_is_opened_is_no_fault_of_the_model(
    other_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = SentenceTransformer.forward

    def forward_if_it_fits(network: Any, features: dict[str, Any], **more: Any) -> Any:
        if features["input_ids"].shape[1] > 100:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(network, features, **more)

    monkeypatch.setattr(SentenceTransformer, "forward", forward_if_it_fits)

    with pytest.raises(Unavailable, match="too little memory"):
        open_embedder(other_folder, tmp_path, threads=1)


def test_a_program_that_a_model_brings_along_is_not_run(other_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(other_folder, tmp_path / "model")
    (folder / "theirs.py").write_text(f"open({str(tmp_path / 'was-run')!r}, 'w')")
    change_json(folder / "config.json", auto_map={"AutoConfig": "theirs.Config", "AutoModel": "theirs.Model"})

    embedder = open_embedder(folder, tmp_path, threads=1)

    assert embedder.embed_passages(SENTENCES).shape == (3, 16)
    assert not (tmp_path / "was-run").exists()


def test_its_tokens_are_places_in_the_text_too(other: Embedder) -> None:
    text = " ".join(SENTENCES)

    spans = other.token_spans(text)

    assert "".join(text[begin:end] for begin, end in spans if begin < end).count("walrus") == 1
    assert all(0 <= begin <= end <= len(text) for begin, end in spans)
    assert [begin for begin, _ in spans] == sorted(begin for begin, _ in spans)


def test_text_beyond_its_window_is_not_seen_and_harms_nobody(other: Embedder) -> None:
    long = "walrus " * 1000

    np.testing.assert_allclose(other.embed_query(long), other.embed_query(long + "ferry"), atol=1e-6)


def test_the_ends_of_chunks_are_seen_with_all_that_stands_in_front_of_them(other: Embedder) -> None:
    text = "walrus " * 1000
    passages = split_into_passages([Section(text)], other.token_spans, max_tokens=chunk_tokens(other))

    inputs = [PROMPTS["document"] + in_context(passage, "walrus " * 100, other) for passage in passages]

    seen = [len(other.token_spans(text)) + SPECIAL_TOKENS for text in inputs]
    assert len(seen) > 10
    assert other.model.window - 5 < max(seen) <= other.model.window


def test_it_is_described_without_loading_anything(other: Embedder, other_folder: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from kb.engine.embedding import read_model
model = read_model(Path({str(other_folder)!r}))
print(model.dimension, model.window, model.fingerprint, "torch" in sys.modules)
"""

    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()

    assert told == ["16", "160", other.model.fingerprint, "False"]
    assert other.model == read_model(other_folder)


def test_a_model_that_gives_other_vectors_than_its_files_announce_is_refused(
    other_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(other_folder, tmp_path / "model")
    # Without its last layer, vectors are twice as long as that makes them.
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules[:-1]))
    (pooling,) = folder.glob("*_Pooling/config.json")
    pooling.write_text(pooling.read_text().replace("32", "16"))

    with pytest.raises(Unavailable, match="announce"):
        open_embedder(folder, tmp_path, threads=1)


@pytest.mark.parametrize("wanted", ["cpu", "auto"])
def test_a_model_that_sentence_transformers_cannot_open_is_refused_with_the_way_out(
    other_folder: Path, tmp_path: Path, pretended_device: None, wanted: WantedDevice
) -> None:
    folder = shutil.copytree(other_folder, tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"damaged")

    with pytest.raises(Unavailable, match=r"model cannot be run here: .*use-a-gpu\.md"):
        open_embedder(folder, tmp_path, threads=1, device=wanted)


def test_batches_that_do_not_fit_into_memory_are_made_smaller(other: Embedder, limit_memory: Limit) -> None:
    texts = SENTENCES * BATCH_ON_PROCESSOR
    expected = other.embed_passages(texts)

    limit_memory(3)

    np.testing.assert_allclose(other.embed_passages(texts), expected, atol=1e-6)


def test_after_a_moment_without_memory_batches_are_as_large_as_before(
    other: Embedder, limit_memory: Limit, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_memory(1)
    other.embed_passages(SENTENCES)
    monkeypatch.undo()
    sizes: list[int] = []
    forward = SentenceTransformer.forward

    def noted(network: Any, features: dict[str, Any], **more: Any) -> Any:
        sizes.append(len(features["input_ids"]))
        return forward(network, features, **more)

    monkeypatch.setattr(SentenceTransformer, "forward", noted)
    other.embed_passages(SENTENCES * BATCH_ON_PROCESSOR)

    assert set(sizes) == {BATCH_ON_PROCESSOR}


def test_without_memory_for_a_single_text_the_model_is_unavailable_and_then_not(
    other: Embedder, limit_memory: Limit, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_memory(0)

    with pytest.raises(Unavailable, match="too little memory"):
        other.embed_passages(SENTENCES)

    monkeypatch.undo()
    assert len(other.embed_passages(SENTENCES)) == 3


def test_an_error_of_a_graphics_processor_means_that_it_is_lost() -> None:
    with pytest.raises(DeviceLost), translated_errors(Computing("cuda")):
        raise RuntimeError("CUDA error: unspecified launch failure")
    with pytest.raises(Unavailable) as caught, translated_errors(Computing("cpu")):
        raise RuntimeError("no")
    assert not isinstance(caught.value, DeviceLost)


@pytest.mark.parametrize("wanted", ["cuda", "rocm"])
def test_a_device_that_torch_does_not_find_is_told(wanted: WantedDevice) -> None:
    computing = find_device(wanted)

    assert computing.device == "cpu"
    assert f"not on {wanted}: " in str(computing.shortfall)
    assert find_device("auto") == Computing()


@pytest.mark.parametrize("wanted", ["auto", "cuda"])
def test_a_device_that_fails_when_it_is_opened_leaves_the_processor(
    model_folder: Path,
    cache_dir: Path,
    pretended_device: None,
    caplog: pytest.LogCaptureFixture,
    wanted: WantedDevice,
) -> None:
    embedder = open_embedder(model_folder, cache_dir / "graphs", threads=1, device=wanted)

    assert embedder.computing.device == "cpu"
    assert "not on cuda: the device cannot be used" in str(embedder.computing.shortfall)
    assert embedder.computing.shortfall in caplog.messages
    assert len(embedder.embed_passages(SENTENCES)) == 3
