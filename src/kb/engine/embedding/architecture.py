"""What a model's folder says about the network its weights belong to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.engine.embedding.config_files import (
    list_pooling_modes,
    read_json,
    read_window,
    refused_if_unlike_others,
)
from kb.engine.embedding.devices import EXTRA
from kb.engine.errors import Unavailable

_MODULES = {"Transformer", "Pooling", "Normalize"}


@dataclass(frozen=True)
class Architecture:
    hidden_size: int
    layers: int
    heads: int
    epsilon: float
    window: int
    """How many tokens the model was trained to see at once, the two special ones included."""


class UnknownNetwork(Unavailable):
    """The model is none that a graph can be written for."""


def read_architecture(folder: Path) -> Architecture:
    """Raises `UnknownNetwork` for anything but a BERT sentence encoder with mean pooling.

    Another network run as if it were this one would answer without complaint, and wrongly.
    """
    config = read_json(folder / "config.json")
    if config is None:
        raise Unavailable(
            f"There is no model {folder.name}. `kb model fetch` fetches the bundled one; "
            "any other must be a folder that KB_EMBEDDING_MODEL names.",
            model=folder.name,
        )
    with refused_if_unlike_others(folder):
        for reason in _reasons_to_refuse(folder, config):
            raise UnknownNetwork(
                f"The model {folder.name} cannot be run here: {reason}. {EXTRA} installs what runs it.",
                model=folder.name,
            )
        return Architecture(
            hidden_size=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
            window=read_window(folder) or config["max_position_embeddings"],
        )


def has_graph(folder: Path) -> bool:
    """Whether one can be written for it. Raises `Unavailable` if there is no model."""
    try:
        read_architecture(folder)
    except UnknownNetwork:
        return False
    return True


def _reasons_to_refuse(folder: Path, config: dict[str, Any]) -> list[str]:
    wanted = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    # Absolute positions are what a BERT has when its config is silent about them.
    stated = {"position_embedding_type": "absolute", **config}
    reasons = [
        f"its {name} is {stated.get(name)!r}, and only {value!r} is known"
        for name, value in wanted.items()
        if stated.get(name) != value
    ]
    if list_pooling_modes(read_json(folder / "1_Pooling" / "config.json") or {}) != ["mean"]:
        reasons.append("it does not pool by the mean of its tokens")
    modules = read_json(folder / "modules.json") or []
    unknown = {module["type"].rpartition(".")[2] for module in modules} - _MODULES
    if unknown:
        reasons.append(f"it has a further step ({', '.join(sorted(unknown))}) after the network")
    return reasons
