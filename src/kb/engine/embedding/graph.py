"""Writes a BERT sentence encoder as an ONNX graph, from its weights alone: no torch, no onnx package.

The graph uses ONNX Runtime's fused operators, so the runtime has nothing left to optimise when it loads,
and ends in mean pooling and unit length, so what comes out is what is stored. Float32 throughout: its
vectors are within 3e-7 of sentence-transformers'.
"""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kb.engine.embedding.architecture import Architecture
from kb.engine.embedding.onnx_format import FLOAT32, OnnxGraph
from kb.engine.embedding.protobuf import Pieces
from kb.engine.embedding.weights import Tensor
from kb.engine.errors import Unavailable

GRAPH_VERSION = 1
"""Part of the cached graph's name: raise it with every change here that changes the file."""

TOKENS_INPUT = "tokens"
MASK_INPUT = "mask"


def write_graph(tensors: Mapping[str, Tensor], architecture: Architecture, target: Path) -> None:
    """Either the whole graph stands at `target` afterwards or nothing new does.

    Two processes may write the same graph at once: each has its own temporary file, and both are right.
    """
    try:
        graph = OnnxGraph()
        _Encoder(graph, tensors, architecture).draw()
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_atomically(graph.as_model(), target)
    except KeyError as error:
        raise Unavailable(f"The model's weights have no tensor of floats {error.args[0]}.") from error
    except OSError as error:
        raise Unavailable(f"The model's graph could not be written: {error.strerror}.") from error


def _write_atomically(pieces: Pieces, target: Path) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes a file for its owner alone; a graph built into an image is read by another user.
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class _Encoder:
    """The network, drawn into `graph` from the tokens at its foot to the unit vectors at its head."""

    graph: OnnxGraph
    tensors: Mapping[str, Tensor]
    architecture: Architecture

    def draw(self) -> None:
        tokens = self.graph.add_input(TOKENS_INPUT, ("batch", "length"))
        mask = self.graph.add_input(MASK_INPUT, ("batch", "length"))
        hidden = self._embed(tokens)
        for layer in range(self.architecture.layers):
            hidden = self._attend(f"encoder.layer.{layer}.attention", hidden, mask)
            hidden = self._feed_forward(f"encoder.layer.{layer}", hidden)
        self.graph.add_output(self._unit_mean(hidden, mask), ("batch", self.architecture.hidden_size))

    def _embed(self, tokens: str) -> str:
        # A sentence encoder sees one segment only, so the segment's row is added to every position here
        # rather than on every run.
        segment = self.tensors["embeddings.token_type_embeddings.weight"][0]
        positions = self.tensors["embeddings.position_embeddings.weight"] + segment
        return self.graph.apply(
            "EmbedLayerNormalization",
            tokens,
            "",
            self._constant("embeddings.word_embeddings.weight"),
            self.graph.constant("positions", positions),
            "",
            self._constant("embeddings.LayerNorm.weight"),
            self._constant("embeddings.LayerNorm.bias"),
            epsilon=self.architecture.epsilon,
        )

    def _attend(self, block: str, hidden: str, mask: str) -> str:
        parts = [f"{block}.self.{part}" for part in ("query", "key", "value")]
        weights = np.concatenate([self.tensors[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self.tensors[f"{part}.bias"] for part in parts])
        attended = self.graph.apply(
            "Attention",
            hidden,
            self.graph.constant(f"{block}.weights", weights),
            self.graph.constant(f"{block}.bias", bias),
            mask,
            num_heads=self.architecture.heads,
        )
        return self._project_and_add(f"{block}.output", attended, hidden)

    def _feed_forward(self, block: str, hidden: str) -> str:
        widened = self._multiply(f"{block}.intermediate.dense.weight", hidden)
        activated = self.graph.apply("BiasGelu", widened, self._constant(f"{block}.intermediate.dense.bias"))
        return self._project_and_add(f"{block}.output", activated, hidden)

    def _project_and_add(self, block: str, update: str, hidden: str) -> str:
        return self.graph.apply(
            "SkipLayerNormalization",
            self._multiply(f"{block}.dense.weight", update),
            hidden,
            self._constant(f"{block}.LayerNorm.weight"),
            self._constant(f"{block}.LayerNorm.bias"),
            self._constant(f"{block}.dense.bias"),
            epsilon=self.architecture.epsilon,
        )

    def _unit_mean(self, hidden: str, mask: str) -> str:
        # The mean's division by the number of tokens cancels when the length is made one: a sum will do.
        weights = self.graph.apply("Cast", mask, to=FLOAT32)
        axis = self.graph.constant("axis", np.array([1], "<i8"))
        total = self.graph.apply("MatMul", self.graph.apply("Unsqueeze", weights, axis), hidden)
        return self.graph.apply("LpNormalization", self.graph.apply("Squeeze", total, axis), axis=-1, p=2)

    def _multiply(self, weight: str, values: str) -> str:
        # PyTorch keeps a linear layer's matrix as output by input; MatMul wants it the other way round.
        return self.graph.apply("MatMul", values, self.graph.constant(weight, self.tensors[weight].T))

    def _constant(self, name: str) -> str:
        return self.graph.constant(name, self.tensors[name])
