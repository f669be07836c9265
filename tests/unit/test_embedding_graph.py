import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kb.engine.embedding import protobuf
from kb.engine.embedding.architecture import Architecture, UnknownNetwork, read_architecture
from kb.engine.embedding.graph import write_graph
from kb.engine.embedding.weights import read_tensors, require_tensors
from kb.engine.errors import Unavailable

CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512,
}
TRANSFORMER = {"type": "sentence_transformers.models.Transformer", "path": ""}


def model_folder(tmp_path: Path, **changes: object) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | changes))
    (tmp_path / "tokenizer.json").write_text("{}")
    return tmp_path


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


def write_safetensors(path: Path, header: dict[str, Any], content: bytes) -> None:
    encoded = json.dumps(header).encode()
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + content)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, b"\x00"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), (-1, b"\xff" * 9 + b"\x01")],
)
def test_integers_are_written_seven_bits_at_a_time(value: int, encoded: bytes) -> None:
    assert protobuf.varint(value) == encoded


def test_a_message_is_preceded_by_its_field_and_its_length() -> None:
    pieces = protobuf.message(2, protobuf.string(1, "testing"))

    assert b"".join(pieces) == b"\x12\x09\x0a\x07testing"


def test_a_message_does_not_copy_the_bytes_it_holds() -> None:
    weights = memoryview(bytes(1000))

    pieces = protobuf.message(9, [weights])

    assert any(piece is weights for piece in pieces)


def test_the_window_is_the_one_that_the_sentence_encoder_was_trained_with(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 200})

    assert read_architecture(folder).window == 200


def test_the_window_is_all_positions_if_nothing_else_is_said(tmp_path: Path) -> None:
    assert read_architecture(model_folder(tmp_path)).window == 512


def test_the_window_is_never_more_than_there_are_positions(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 1000})

    assert read_architecture(folder).window == 512


def test_a_window_in_which_no_chunk_has_room_is_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 64})

    with pytest.raises(Unavailable, match="at least 128 tokens"):
        read_architecture(folder)


def test_the_window_is_what_the_tokenizer_allows_if_that_is_less(tmp_path: Path) -> None:
    """As sentence-transformers 6 saves it."""
    folder = model_folder(tmp_path)
    write_json(folder / "sentence_bert_config.json", {"transformer_task": "feature-extraction"})
    write_json(folder / "tokenizer_config.json", {"model_max_length": 200})

    assert read_architecture(folder).window == 200


@pytest.mark.parametrize(
    "change",
    [{"model_type": "mpnet"}, {"hidden_act": "relu"}, {"position_embedding_type": "relative_key"}],
)
def test_a_network_of_another_kind_is_refused_by_name(tmp_path: Path, change: dict[str, str]) -> None:
    folder = model_folder(tmp_path, **change)

    with pytest.raises(Unavailable, match=next(iter(change.values()))):
        read_architecture(folder)


@pytest.mark.parametrize(
    "pooling",
    [
        {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True},
        {"embedding_dimension": 8, "pooling_mode": "mean", "include_prompt": True},
        {"embedding_dimension": 8, "pooling_mode": ["mean"]},
    ],
)
def test_a_model_that_pools_by_the_mean_is_known_by_old_and_new_files(tmp_path: Path, pooling: dict[str, Any]) -> None:
    folder = model_folder(tmp_path)
    write_json(folder / "1_Pooling" / "config.json", pooling)

    assert read_architecture(folder).hidden_size == 8


@pytest.mark.parametrize(
    "pooling",
    [
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
        {"pooling_mode_mean_sqrt_len_tokens": True},
        {"embedding_dimension": 8, "pooling_mode": "cls"},
        {"embedding_dimension": 8, "pooling_mode": ["mean", "max"]},
    ],
)
def test_a_model_that_pools_in_another_way_is_refused(tmp_path: Path, pooling: dict[str, Any]) -> None:
    folder = model_folder(tmp_path)
    write_json(folder / "1_Pooling" / "config.json", pooling)

    with pytest.raises(Unavailable, match="mean of its tokens"):
        read_architecture(folder)


def test_a_model_with_a_further_layer_is_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    write_json(
        folder / "modules.json", [TRANSFORMER, {"type": "sentence_transformers.models.Dense", "path": "1_Dense"}]
    )

    with pytest.raises(UnknownNetwork, match="Dense"):
        read_architecture(folder)


@pytest.mark.parametrize(
    ("place", "pooling", "reason"),
    [
        ("1_Pooling", None, "does not say how it pools: 1_Pooling"),
        ("pooling", {"pooling_mode": "cls"}, "mean of its tokens"),
    ],
)
def test_the_pooling_is_the_one_that_its_list_of_steps_names(
    tmp_path: Path, place: str, pooling: Any, reason: str
) -> None:
    folder = model_folder(tmp_path)
    write_json(folder / "modules.json", [TRANSFORMER, {"type": "sentence_transformers.models.Pooling", "path": place}])
    if pooling is not None:
        write_json(folder / place / "config.json", pooling)

    with pytest.raises(Unavailable, match=reason):
        read_architecture(folder)


@pytest.mark.parametrize(
    ("steps", "changes", "reason"),
    [
        ([{"type": "custom_st.Transformer", "path": ""}], {}, r"custom_st\.Transformer"),
        ([], {"auto_map": {"AutoModel": "their.Model"}}, "names a program of its own"),
    ],
)
def test_a_model_that_brings_a_program_along_is_refused(
    tmp_path: Path, steps: list[Any], changes: dict[str, Any], reason: str
) -> None:
    folder = model_folder(tmp_path, **changes)
    write_json(folder / "modules.json", [*steps, TRANSFORMER] if steps else [TRANSFORMER])

    with pytest.raises(Unavailable, match=reason):
        read_architecture(folder)


def test_a_network_in_a_folder_of_its_own_is_none_that_a_graph_is_written_for(tmp_path: Path) -> None:
    (tmp_path / "0_Transformer").mkdir()
    model_folder(tmp_path / "0_Transformer")
    write_json(tmp_path / "modules.json", [{**TRANSFORMER, "path": "0_Transformer"}])

    with pytest.raises(UnknownNetwork, match="folder of its own"):
        read_architecture(tmp_path)


def test_prompts_that_take_no_part_in_the_mean_are_none_that_a_graph_knows(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    write_json(folder / "1_Pooling" / "config.json", {"pooling_mode": "mean", "include_prompt": False})
    assert read_architecture(folder).hidden_size == 8
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "question: "}})

    with pytest.raises(UnknownNetwork, match="leaves its prompts out"):
        read_architecture(folder)


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("config.json", [1], "not like those"),
        ("tokenizer_config.json", [1], "not like those"),
        ("modules.json", {"a": 1}, "not like those"),
        ("modules.json", [{"path": ""}], "do not state type"),
        ("modules.json", [], "does not begin with a network"),
        ("1_Pooling/config.json", [1], "not like those"),
        ("config.json", {name: value for name, value in CONFIG.items() if name != "hidden_size"}, "hidden_size"),
    ],
)
def test_files_of_another_shape_are_refused_with_the_reason(
    tmp_path: Path, file: str, content: Any, reason: str
) -> None:
    write_json(model_folder(tmp_path) / file, content)

    with pytest.raises(Unavailable, match=reason):
        read_architecture(tmp_path)


def test_a_window_without_an_end_is_none(tmp_path: Path) -> None:
    config = {name: value for name, value in CONFIG.items() if name != "max_position_embeddings"}
    write_json(model_folder(tmp_path) / "config.json", config)
    write_json(tmp_path / "tokenizer_config.json", {"model_max_length": 10**30})

    with pytest.raises(Unavailable, match="window has to be stated"):
        read_architecture(tmp_path)


def test_a_file_in_place_of_a_folder_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")

    with pytest.raises(Unavailable, match=r"There is no model model\.safetensors"):
        read_architecture(tmp_path / "model.safetensors")


def test_a_folder_without_a_model_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="kb model fetch"):
        read_architecture(tmp_path)


def test_a_damaged_config_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")

    with pytest.raises(Unavailable, match="damaged"):
        read_architecture(tmp_path)


def test_tensors_are_read_with_their_shapes(tmp_path: Path) -> None:
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    write_safetensors(tmp_path / "w", {"__metadata__": {"format": "pt"}, "a": entry}, values.tobytes())

    tensors = read_tensors(tmp_path / "w")

    np.testing.assert_array_equal(tensors["a"], values)


@pytest.mark.parametrize(("dtype", "content"), [("F16", [0x3C00, 0xC100]), ("BF16", [0x3F80, 0xC020])])
def test_tensors_of_half_precision_are_read_with_their_very_values(
    tmp_path: Path, dtype: str, content: list[int]
) -> None:
    entry = {"dtype": dtype, "shape": [2], "data_offsets": [0, 4]}
    write_safetensors(tmp_path / "w", {"a": entry}, np.array(content, "<u2").tobytes())

    tensors = read_tensors(tmp_path / "w")

    assert tensors["a"].dtype == np.float32
    np.testing.assert_array_equal(tensors["a"], [1.0, -2.5])


@pytest.mark.parametrize("content", [b"", b"\x05", b"\xff" * 8 + b"{"])
def test_weights_with_a_damaged_header_are_told_as_such(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w").write_bytes(content)

    for read in (read_tensors, require_tensors):
        with pytest.raises(Unavailable, match="damaged"):
            read(tmp_path / "w")


def test_weights_that_were_cut_short_are_told_as_such(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    write_safetensors(tmp_path / "w", {"a": entry}, bytes(20))

    with pytest.raises(Unavailable, match="damaged"):
        read_tensors(tmp_path / "w")


def test_weights_that_lack_a_tensor_leave_no_graph_behind(tmp_path: Path) -> None:
    architecture = Architecture(hidden_size=8, layers=1, heads=2, epsilon=1e-12, window=16)

    with pytest.raises(Unavailable, match="token_type_embeddings"):
        write_graph({}, architecture, tmp_path / "graphs" / "a.onnx")

    assert not (tmp_path / "graphs").exists()
