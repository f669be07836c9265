"""Models that sentence-transformers runs here, on a processor: no machine of ours has a graphics processor."""

import json
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

from kb.engine.embedding import read_model
from kb.engine.embedding.modules import tokenizer_file
from kb.engine.embedding.prompts import read_prompts
from kb.engine.embedding.sentence_transformers import SentenceTransformersEmbedder
from kb.engine.model import Computing
from kb.engine.ports import Embedder

SENTENCES = ["The walrus rests on the ice.", "Where does the ferry to the island leave?", "Naïve café, 东京, 🚀."]
PROMPTS = {"query": "question: ", "document": "text: "}


@dataclass(frozen=True)
class Observed:
    embedder: Embedder
    calls_out: list[str]
    """Whom anything has tried to reach while it was opened and first used."""


def open_on_torch(folder: Path) -> Embedder:
    return SentenceTransformersEmbedder(
        read_model(folder),
        folder=folder,
        tokenizer=tokenizer_file(folder),
        computing=Computing(),
        prompts=read_prompts(folder),
        threads=2,
    )


@pytest.fixture(scope="session")
def observed(model_folder: Path) -> Observed:
    calls_out: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda host, *_, **__: calls_out.append(str(host)))
        patch.setattr(socket.socket, "connect", lambda _, address: calls_out.append(str(address)))
        embedder = open_on_torch(model_folder)
        embedder.embed_passages(SENTENCES)
    return Observed(embedder, calls_out)


@pytest.fixture(scope="session")
def embedder(observed: Observed) -> Embedder:
    """The bundled model, as the tests of every embedder know it, but not on ONNX Runtime."""
    return observed.embedder


@pytest.fixture(scope="session")
def other_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that no graph can be written for, as its maker would save it: small, and of no use."""
    folder = tmp_path_factory.mktemp("models") / "tiny-roberta"
    parts = folder.parent / "parts"
    tokenizer = _train_tokenizer()
    torch.manual_seed(0)
    network = RobertaModel(
        RobertaConfig(
            vocab_size=tokenizer.vocab_size,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=162,
            pad_token_id=1,
        )
    )
    network.save_pretrained(parts)
    tokenizer.save_pretrained(parts)
    transformer = Transformer(str(parts), max_seq_length=160)
    pooling = Pooling(32, pooling_mode="cls")
    made = SentenceTransformer(modules=[transformer, pooling, Dense(32, 16)], prompts=PROMPTS, device="cpu")
    made.save(str(folder), create_model_card=False)
    return folder


@pytest.fixture(scope="session")
def unknown_folder(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled model with one more step, which changes no vector: enough for ONNX Runtime not to run it."""
    folder = tmp_path_factory.mktemp("models") / "one-more-step"
    (folder / "1_Pooling").mkdir(parents=True)
    for path in (*model_folder.glob("*.*"), model_folder / "1_Pooling" / "config.json"):
        (folder / path.relative_to(model_folder)).symlink_to(path)
    (folder / "modules.json").unlink()
    modules = json.loads((model_folder / "modules.json").read_text())
    step = {"idx": 3, "name": "3", "path": "3_Dropout", "type": "sentence_transformers.models.Dropout"}
    (folder / "modules.json").write_text(json.dumps([*modules, step]))
    (folder / "3_Dropout").mkdir()
    (folder / "3_Dropout" / "config.json").write_text(json.dumps({"dropout": 0.5}))
    return folder


def _train_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    roles = ("bos", "pad", "eos", "unk", "mask")
    named = {f"{role}_token": token for role, token in zip(roles, special, strict=True)}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token=special[0], sep_token=special[2], model_max_length=160, **named
    )
