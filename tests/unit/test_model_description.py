"""What the files of a model say that ONNX Runtime cannot run; none of its weights is loaded."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from kb.engine.embedding.description import describe_any_model
from kb.engine.embedding.modules import tokenizer_file
from kb.engine.errors import Unavailable

ORIGIN = "sentence_transformers.models"
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": f"{ORIGIN}.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{ORIGIN}.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{ORIGIN}.Normalize"},
]
DENSE = {"idx": 3, "name": "3", "path": "3_Dense", "type": f"{ORIGIN}.Dense"}
FILES: dict[str, Any] = {
    "modules.json": MODULES,
    "config.json": {"model_type": "mpnet", "hidden_size": 32, "max_position_embeddings": 514},
    "sentence_bert_config.json": {"max_seq_length": 384},
    "tokenizer.json": {},
    "model.safetensors": "weights",
    "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
}

WriteModel = Callable[..., Path]


@pytest.fixture
def write_model(tmp_path: Path) -> WriteModel:
    def write(name: str = "model", **changes: Any) -> Path:
        folder = tmp_path / name
        for path, content in {**FILES, **changes}.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                file.write_text(json.dumps(content))
            else:
                file.unlink(missing_ok=True)
        return folder

    return write


def test_dimension_and_window_are_what_the_files_say(write_model: WriteModel) -> None:
    model = describe_any_model(write_model())

    assert (model.name, model.dimension, model.window) == ("model", 32, 384)
    assert model.fingerprint.startswith("model-")
    assert model.fingerprint.endswith("-fp32")


@pytest.mark.parametrize(
    ("pooling", "dimension"),
    [
        ({"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, 64),
        ({"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, 32),
        ({"embedding_dimension": 32, "pooling_mode": "mean"}, 32),
        ({"embedding_dimension": 32, "pooling_mode": ["mean", "max"]}, 64),
    ],
)
def test_each_way_of_pooling_adds_numbers_in_old_and_new_files(
    write_model: WriteModel, pooling: dict[str, Any], dimension: int
) -> None:
    assert describe_any_model(write_model(**{"1_Pooling/config.json": pooling})).dimension == dimension


def test_a_last_layer_decides_on_the_dimension(write_model: WriteModel) -> None:
    dense = {"3_Dense/config.json": {"out_features": 16}, "3_Dense/model.safetensors": "weights"}

    assert describe_any_model(write_model(**{"modules.json": [*MODULES, DENSE]}, **dense)).dimension == 16


def test_a_folder_without_a_list_of_modules_is_a_network_alone(write_model: WriteModel) -> None:
    assert describe_any_model(write_model(**{"modules.json": None})).dimension == 32


@pytest.mark.parametrize("stated", [{"max_seq_length": 514}, None])
def test_places_that_padding_takes_are_not_for_text(write_model: WriteModel, stated: Any) -> None:
    config = {"model_type": "xlm-roberta", "hidden_size": 32, "max_position_embeddings": 514, "pad_token_id": 1}

    folder = write_model(**{"config.json": config, "sentence_bert_config.json": stated})

    assert describe_any_model(folder).window == 512


def test_the_window_is_the_least_limit_if_it_is_not_stated(write_model: WriteModel) -> None:
    of_tokenizer = {"tokenizer_config.json": {"model_max_length": 512}, "sentence_bert_config.json": None}

    assert describe_any_model(write_model(**of_tokenizer)).window == 512


@pytest.mark.parametrize(
    ("prompts", "tokens"),
    [
        ({"query": "question: ", "document": "text of it: "}, 4),
        ({"query": "question: ", "passage": "text: "}, 2),
        ({"query": "question: ", "document": ""}, 0),
        ({"query": "question: "}, 0),
        (None, 0),
    ],
)
def test_what_is_put_in_front_of_passages_takes_some_of_the_window(
    write_model: WriteModel, prompts: dict[str, str] | None, tokens: int
) -> None:
    tokenizer = Tokenizer(WordLevel({"": 0}, unk_token=""))
    tokenizer.pre_tokenizer = Whitespace()
    saved = json.loads(tokenizer.to_str())
    folder = write_model(**{"tokenizer.json": saved, "config_sentence_transformers.json": {"prompts": prompts}})

    model = describe_any_model(folder)

    assert (model.window, model.prompt_tokens) == (384, tokens)


def test_the_tokenizer_is_where_the_network_is(write_model: WriteModel) -> None:
    inside = [{**MODULES[0], "path": "0_Transformer"}, *MODULES[1:]]

    folder = write_model(**{"modules.json": inside, "0_Transformer/tokenizer.json": {}})

    assert tokenizer_file(folder) == folder / "0_Transformer" / "tokenizer.json"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"modules.json": [*MODULES, {**DENSE, "type": "their_own.Layer"}]}, "their_own.Layer"),
        ({"modules.json": [*MODULES, {**DENSE, "type": "their_own.Dense"}]}, "their_own.Dense"),
        ({"modules.json": MODULES[1:]}, "does not begin with a network"),
        ({"modules.json": [*MODULES, DENSE], "3_Dense/config.json": {"out_features": 8}}, "not complete"),
        ({"modules.json": [*MODULES, DENSE], "3_Dense/config.json": {}}, "out_features"),
        ({"modules.json": ["Transformer"]}, "not like those"),
        ({"modules.json": [{"type": f"{ORIGIN}.Transformer"}]}, "path"),
        ({"tokenizer.json": None}, r"tokenizer\.json"),
        ({"model.safetensors": None, "pytorch_model.bin": "a program"}, "not complete"),
        ({"1_Pooling/config.json": None}, "does not say how it pools"),
        ({"sentence_bert_config.json": {"max_seq_length": 64}}, "window"),
        ({"sentence_bert_config.json": None, "config.json": {"hidden_size": 32}}, "window"),
    ],
)
def test_what_files_cannot_tell_or_kb_does_not_run_is_refused_with_the_reason(
    write_model: WriteModel, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        describe_any_model(write_model(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"model.safetensors": "other weights"},
        {"model-00001-of-00002.safetensors": "more weights"},
        {"tokenizer.json": {"lower": True}},
        {"1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_cls_token": True}},
        {"config_sentence_transformers.json": {"prompts": {"query": "query: "}}},
    ],
)
def test_all_that_decides_on_vectors_is_in_the_fingerprint(write_model: WriteModel, changes: dict[str, Any]) -> None:
    before = describe_any_model(write_model())
    assert describe_any_model(write_model()) == before

    assert describe_any_model(write_model(**changes)).fingerprint != before.fingerprint


def test_weights_are_read_once_and_not_each_time(write_model: WriteModel) -> None:
    folder = write_model()
    before = describe_any_model(folder)

    weights = folder / "model.safetensors"
    state = weights.stat()
    weights.write_text(weights.read_text().upper())
    os.utime(weights, ns=(state.st_atime_ns, state.st_mtime_ns))

    assert describe_any_model(folder) == before
