"""Which device a model computes on: what was asked for, and what there is.

A graphics processor is only ever used through torch, which calls those of AMD "cuda" as well: what its build is for
tells them apart. Without the extra nothing of torch is loaded.
"""

import logging
from dataclasses import dataclass
from importlib.util import find_spec

from kb.engine.embedding.config_files import ModelRefused
from kb.engine.errors import Unavailable
from kb.engine.model import Computing, Device, EmbeddingModel, WantedDevice

EXTRA = "pip install 'kb-local[gpu]'"
MORE = "docs/how-to/use-a-gpu.md"

# What a package raises that is installed and cannot be loaded: a library of the device's own may be missing, or an
# upgrade have ended half-way.
BROKEN_PACKAGE = (ImportError, OSError, RuntimeError, ValueError, AttributeError, TypeError)

_TOOLS = {"cuda": "nvidia-smi", "rocm": "rocminfo"}

log = logging.getLogger(__name__)


class DeviceLost(Unavailable):
    """The device has failed while it was in use, and fails from now on: the model has to be opened anew."""


class DeviceFull(Unavailable):
    """It has too little memory at the moment, for one text even."""


class ExtraBroken(Unavailable):
    """What the extra has brought cannot load the model, on any device."""


@dataclass(frozen=True)
class Torch:
    """The torch that is installed here."""

    built_for: Device | None
    """None if it cannot be loaded."""
    finds_device: bool = False


def has_extra() -> bool:
    return find_spec("torch") is not None and find_spec("sentence_transformers") is not None


def find_device(wanted: WantedDevice) -> Computing:
    """Takes seconds if there is torch: it is loaded then."""
    return choose_device(wanted, None if wanted == "cpu" or not has_extra() else _look_at_torch())


def choose_device(wanted: WantedDevice, torch: Torch | None) -> Computing:
    found = torch.built_for if torch is not None and torch.finds_device else None
    if wanted == "cpu" or (wanted == "auto" and found is None):
        return Computing("cpu")
    if found is not None and wanted in ("auto", found):
        return Computing(found)
    if torch is None:
        return _without(wanted, "what computes there is not installed", f"Install it: {EXTRA}")
    if torch.built_for is None:
        return _without(wanted, "torch cannot be loaded", f"The log says why; {MORE} says how to install it.")
    if torch.built_for != wanted:
        return _without(wanted, f"the torch that is installed is for {torch.built_for}", f"Install the other: {MORE}")
    return _without(wanted, "torch finds no such device", f"See whether {_TOOLS[wanted]} lists it: {MORE}")


def choose_processor_instead(device: Device, failure: Unavailable) -> Computing:
    """Of a device that was there, and could not be used."""
    if isinstance(failure, ModelRefused):
        return _without(device, failure.reason, f"What a model has to be like: {MORE}")
    if isinstance(failure, ExtraBroken):
        return _without(
            device, "sentence-transformers cannot load it", f"The log says why. Install the extra anew: {MORE}"
        )
    return _without(device, "the device cannot be used", f"The log says why. When it is mended, start again: {MORE}")


def explain_broken_extra(model: EmbeddingModel) -> ExtraBroken:
    return ExtraBroken(
        f"The model {model.name} cannot be run here: sentence-transformers cannot load it. The log says why. "
        f"Mend its folder, or the installation: {MORE}",
        model=model.name,
    )


def _without(device: Device | WantedDevice, reason: str, way_out: str) -> Computing:
    return Computing("cpu", f"The model computes on the processor and not on {device}: {reason}. {way_out}")


def _look_at_torch() -> Torch:
    try:
        import torch

        built_for: Device = "rocm" if torch.version.hip else "cuda" if torch.version.cuda else "cpu"
        return Torch(built_for, built_for != "cpu" and bool(torch.cuda.is_available()))
    except BROKEN_PACKAGE:
        log.warning("torch is installed and cannot be loaded.", exc_info=True)
        return Torch(None)
