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
from kb.engine.embedding.modules import MODULES_FILE, Module, read_modules
from kb.engine.embedding.prompts import Prompts, count_prompt_tokens, read_prompts
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
    if not any((folder / name).is_file() for name in ("config.json", MODULES_FILE)):
        raise Unavailable(
            f"There is no model {folder.name}. `kb model fetch` fetches the bundled one; "
            "any other must be a folder that KB_EMBEDDING_MODEL names.",
            model=folder.name,
        )
    with refused_if_unlike_others(folder):
        modules = read_modules(folder)
        config = modules[0].read()
        for reason in _reasons_to_refuse(folder, modules, config):
            raise UnknownNetwork(
                f"The model {folder.name} cannot be run here: {reason}. {EXTRA} installs what runs it.",
                model=folder.name,
            )
        return Architecture(
            hidden_size=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
            window=read_window(folder, count_prompt_tokens(folder)),
        )


def has_graph(folder: Path) -> bool:
    """Whether one can be written for it. Raises `Unavailable` if there is no model."""
    try:
        read_architecture(folder)
    except UnknownNetwork:
        return False
    return True


def _reasons_to_refuse(folder: Path, modules: list[Module], config: dict[str, Any]) -> list[str]:
    wanted = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    # Absolute positions are what a BERT has when its config is silent about them.
    stated = {"position_embedding_type": "absolute", **config}
    reasons = [
        f"its {name} is {stated.get(name)!r}, and only {value!r} is known"
        for name, value in wanted.items()
        if stated.get(name) != value
    ]
    # Where no steps are listed, it may be there all the same.
    listed = [module.folder for module in modules if module.name == "Pooling"]
    pooling = read_json((listed or [folder / "1_Pooling"])[0] / "config.json") or {}
    if list_pooling_modes(pooling) != ["mean"]:
        reasons.append("it does not pool by the mean of its tokens")
    if pooling.get("include_prompt") is False and read_prompts(folder) != Prompts():
        reasons.append("it leaves its prompts out of the mean")
    if config.get("auto_map"):
        reasons.append("it names a program of its own (auto_map)")
    if modules[0].folder != folder:
        reasons.append("its network is in a folder of its own")
    unknown = {module.name for module in modules} - _MODULES
    if unknown:
        reasons.append(f"it has a further step ({', '.join(sorted(unknown))}) after the network")
    return reasons
