"""The network of the universal sentence encoder as an ONNX model with 8-bit weights.

Three branches look at two, three and five neighboring tokens; their mean over the text goes through four layers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.models.e5.onnx_writer import FLOAT, OnnxGraph
from pipeline.models.sentence_encoder.encoder_weights import WIDTH, EncoderWeights

INPUT = "token_vectors"
_BRANCHES = {2: 0, 3: 1, 5: 2}
"""Tokens that each branch looks at, and how many of them stand before its own."""
_BRANCH_WIDTH = 256
_TO_THE_END = 1 << 30


def build_graph(weights: EncoderWeights) -> bytes:
    """The model: from token vectors (tokens, width) to the text's vector (1, width), not of unit length."""
    return _Builder(weights, OnnxGraph()).build()


@dataclass(frozen=True, slots=True)
class _Builder:
    weights: EncoderWeights
    graph: OnnxGraph

    def build(self) -> bytes:
        self.graph.constant("parts", np.array([_BRANCH_WIDTH] * len(_BRANCHES), np.int64))
        self.graph.constant("first_axis", np.array([0], np.int64))
        projected = self.graph.int8_linear(INPUT, "proj", self._of_branches("proj"), self._of_branches("proj_b"))
        normed = self._norm(projected, self._of_branches("ln_g"), self._of_branches("ln_b"), "branches")
        parts = self.graph.node_with_outputs("Split", [normed, "parts"], len(_BRANCHES), axis=1)
        features = [self._branch(part, count) for part, count in zip(parts, _BRANCHES, strict=True)]
        joined = self.graph.node("Concat", [INPUT, *features], axis=1)
        normed = self._norm(joined, self.weights.tensor("ln_g"), self.weights.tensor("ln_b"), "joined")
        output = self._head(normed)
        return self.graph.model(source=INPUT, output=output, shape=["tokens", WIDTH], output_shape=[1, WIDTH])

    def _of_branches(self, name: str) -> NDArray[np.float32]:
        return np.concatenate([self.weights.tensor(f"{name}{count}") for count in _BRANCHES], axis=-1)

    def _branch(self, states: str, count: int) -> str:
        """Two convolutions over `count` tokens, each added to its input."""
        for layer in (1, 2):
            weights, bias = (self.weights.tensor(f"{part}{layer}_{count}") for part in "wb")
            name = f"w{layer}_{count}"
            convolved = self.graph.int8_linear(self._neighbors(states, count, name), name, weights, bias)
            states = self.graph.node("Add", [self.graph.node("Relu", [convolved]), states])
        return states

    def _neighbors(self, states: str, count: int, name: str) -> str:
        """Each token's vector beside those of its neighbors; zeros before the first and after the last."""
        before = _BRANCHES[count]
        padding = np.array([before, 0, count - 1 - before, 0], np.int64)
        padded = self.graph.node("Pad", [states, self.graph.constant(f"{name}.padding", padding)])
        shifted = []
        for start in range(count):
            end = start - (count - 1) or _TO_THE_END
            bounds = [
                self.graph.constant(f"{name}.{at}.{start}", np.array([value], np.int64))
                for at, value in (("start", start), ("end", end))
            ]
            shifted.append(self.graph.node("Slice", [padded, *bounds, "first_axis"]))
        return self.graph.node("Concat", shifted, axis=1)

    def _head(self, features: str) -> str:
        shape = self.graph.node("Shape", [INPUT])
        count = self.graph.node("Cast", [self.graph.node("Gather", [shape, "first_axis"])], to=FLOAT)
        mean = self.graph.node("Div", [self.graph.node("ReduceSum", [features, "first_axis"]), count])
        text = self._layer(mean, "cnn_W", self.weights.tensor("cnn_b"))
        text = self.graph.node("Mul", [text, self.graph.node("Sqrt", [count])])
        first = self.graph.node("Relu", [self._layer(text, "d0")])
        second = self.graph.node("Relu", [self._sum(self._layer(text, "p1"), self._layer(first, "d1"))])
        third = self.graph.node("Relu", [self._layer(second, "d2")])
        return self.graph.node("Tanh", [self._sum(self._layer(second, "p3"), self._layer(third, "d3"))])

    def _sum(self, left: str, right: str) -> str:
        return self.graph.node("Add", [left, right])

    def _layer(self, states: str, name: str, bias: NDArray[np.float32] | None = None) -> str:
        return self.graph.int8_linear(states, name, self.weights.tensor(name), bias)

    def _norm(self, states: str, gain: NDArray[np.float32], bias: NDArray[np.float32], name: str) -> str:
        constants = [self.graph.constant(f"{name}.gain", gain), self.graph.constant(f"{name}.bias", bias)]
        return self.graph.node("LayerNormalization", [states, *constants], epsilon=self.weights.epsilon)
