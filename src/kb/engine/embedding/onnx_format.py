"""An ONNX model put together node by node. The numbers of the fields are those of onnx.proto."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from kb.engine.embedding.protobuf import Pieces, integer, message, real, string

FLOAT32, INT32, INT64 = 1, 6, 7

_IR_VERSION = 9
_FUSED = "com.microsoft"
_OPSETS = {"": 20, _FUSED: 1}
_FUSED_OPERATORS = {"EmbedLayerNormalization", "Attention", "SkipLayerNormalization", "BiasGelu"}
# This one must be given a name for its second output, the texts' lengths, though the mask serves as well.
_OPERATORS_WITH_LENGTHS = {"EmbedLayerNormalization"}
_ELEMENT_TYPES = {np.dtype("<f4"): FLOAT32, np.dtype("<i8"): INT64}


class OnnxGraph:
    """Every value is known by its name: each method that makes one returns it."""

    def __init__(self) -> None:
        self._nodes: list[Pieces] = []
        self._constants: list[Pieces] = []
        self._inputs: list[Pieces] = []
        self._outputs: list[Pieces] = []

    def add_input(self, name: str, shape: tuple[str | int, ...]) -> str:
        """An input of 32-bit integers. A size that is a word may differ from run to run."""
        self._inputs.append(message(11, _value(name, INT32, shape)))
        return name

    def add_output(self, name: str, shape: tuple[str | int, ...]) -> None:
        self._outputs.append(message(12, _value(name, FLOAT32, shape)))

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:  # Any: floats or integers
        contiguous = np.ascontiguousarray(values)
        sizes = [integer(1, size) for size in values.shape]
        element_type = integer(2, _ELEMENT_TYPES[values.dtype])
        content = message(9, [contiguous.data.cast("B")])
        self._constants.append(message(5, _joined([*sizes, element_type, string(8, name), content])))
        return name

    def apply(self, operator: str, *inputs: str, **attributes: float) -> str:
        """Run an operator on values already made; an input that it can do without is an empty name."""
        output = f"{operator}_{len(self._nodes)}"
        fields = [string(1, name) for name in inputs]
        fields.append(string(2, output))
        if operator in _OPERATORS_WITH_LENGTHS:
            fields.append(string(2, f"{output}_lengths"))
        fields += [string(3, output), string(4, operator)]
        fields += [message(5, _attribute(name, value)) for name, value in attributes.items()]
        fields.append(string(7, _FUSED if operator in _FUSED_OPERATORS else ""))
        self._nodes.append(message(1, _joined(fields)))
        return output

    def as_model(self) -> Pieces:
        parts = [*self._nodes, string(2, "sentence encoder"), *self._constants, *self._inputs, *self._outputs]
        opsets = [message(8, [*string(1, domain), *integer(2, version)]) for domain, version in _OPSETS.items()]
        return _joined([integer(1, _IR_VERSION), string(2, "kb"), message(7, _joined(parts)), *opsets])


def _attribute(name: str, value: float) -> Pieces:
    if isinstance(value, int):
        return [*string(1, name), *integer(3, value), *integer(20, 2)]
    return [*string(1, name), *real(2, value), *integer(20, 1)]


def _value(name: str, element_type: int, shape: tuple[str | int, ...]) -> Pieces:
    sizes = [message(1, string(2, size) if isinstance(size, str) else integer(1, size)) for size in shape]
    tensor_type = [*integer(1, element_type), *message(2, _joined(sizes))]
    return [*string(1, name), *message(2, message(1, tensor_type))]


def _joined(messages: Iterable[Pieces]) -> Pieces:
    return list(chain.from_iterable(messages))
