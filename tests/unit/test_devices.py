import logging
from importlib.util import find_spec

import pytest

from kb.engine.embedding.devices import DeviceLost, Torch, choose_device, choose_processor_instead, find_device
from kb.engine.model import Computing, WantedDevice

NVIDIA, AMD = Torch("cuda", finds_device=True), Torch("rocm", finds_device=True)
PLAIN, BROKEN = Torch("cpu"), Torch(None)


@pytest.mark.parametrize(
    ("wanted", "torch", "device"),
    [
        ("auto", None, "cpu"),
        ("auto", PLAIN, "cpu"),
        ("auto", BROKEN, "cpu"),
        ("auto", Torch("cuda"), "cpu"),
        ("auto", NVIDIA, "cuda"),
        ("auto", AMD, "rocm"),
        ("cpu", NVIDIA, "cpu"),
        ("cuda", NVIDIA, "cuda"),
        ("rocm", AMD, "rocm"),
    ],
)
def test_what_there_is_and_what_is_wanted_decide_on_the_device(
    wanted: WantedDevice, torch: Torch | None, device: str
) -> None:
    assert choose_device(wanted, torch) == Computing(device)  # type: ignore[arg-type]  # a parameter of the test


@pytest.mark.parametrize(
    ("wanted", "torch", "way_out"),
    [
        ("cuda", None, "pip install 'kb-local[gpu]'"),
        ("cuda", BROKEN, "log says why"),
        ("cuda", PLAIN, "is for cpu"),
        ("cuda", AMD, "is for rocm"),
        ("cuda", Torch("cuda"), "nvidia-smi"),
        ("rocm", None, "pip install 'kb-local[gpu]'"),
        ("rocm", NVIDIA, "is for cuda"),
        ("rocm", Torch("rocm"), "rocminfo"),
    ],
)
def test_whoever_cannot_have_the_device_is_told_why_and_the_way_out(
    wanted: WantedDevice, torch: Torch | None, way_out: str
) -> None:
    computing = choose_device(wanted, torch)

    assert computing.device == "cpu"
    assert computing.shortfall is not None
    assert computing.shortfall.startswith(f"The model computes on the processor and not on {wanted}: ")
    assert way_out in computing.shortfall


def test_a_device_that_is_there_and_fails_is_told_too() -> None:
    computing = choose_processor_instead("cuda", DeviceLost("No."))

    assert computing.device == "cpu"
    assert "not on cuda: the device cannot be used" in str(computing.shortfall)


@pytest.mark.skipif(find_spec("torch") is not None, reason="tests/gpu is for where there is torch")
def test_without_the_extra_nothing_is_loaded_and_nothing_is_said_unless_a_device_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert find_device("auto") == Computing()
        assert find_device("cpu") == Computing()
        assert find_device("cuda").shortfall is not None

    assert caplog.messages == []
