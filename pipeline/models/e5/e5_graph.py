"""The network of multilingual-e5-small as an ONNX model with 8-bit weights, made from the 4-bit ones in 0.3 s.

Twelve BERT layers, from token vectors to context vectors. Activations are quantized when the model runs, with one
scale a tensor. In three layers the inner activations have outliers that would cost most of the precision: those
multiply with 4-bit weights and a scale for every 32 activations (docs/decisions/0018).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.models.e5.e5_weights import BLOCK, E5Weights, QuantizedMatrix
from pipeline.models.e5.onnx_writer import MICROSOFT_DOMAIN, OnnxGraph

INPUT = "token_vectors"
OUTLIER_LAYERS = frozenset({0, 4, 5})
"""Layers whose inner activations have outliers; measured on texts in ten languages."""
_INT8_ACCURACY_LEVEL = 4


def build_graph(weights: E5Weights) -> bytes:
    """The model; input and output have the shape (1, tokens, width)."""
    return _Builder(weights, OnnxGraph()).build()


@dataclass(frozen=True, slots=True)
class _Builder:
    weights: E5Weights
    graph: OnnxGraph

    def build(self) -> bytes:
        width = self.weights.width
        self.graph.constant("thirds", np.array([width] * 3, np.int64))
        states = self.graph.node(
            "LayerNormalization", [INPUT, *self._norm_constants("emb.ln")], epsilon=self.weights.epsilon
        )
        for layer in range(self.weights.layers):
            states = self._layer(layer, states)
        return self.graph.model(source=INPUT, output=states, shape=[1, "tokens", width])

    def _layer(self, layer: int, states: str) -> str:
        width, inner = self.weights.width, self.weights.inner_width
        prefix = f"l{layer}."
        projected = self._linear(states, [prefix + part for part in "qkv"], width)
        queries_keys_values = self.graph.node_with_outputs("Split", [projected, "thirds"], 3, axis=2)
        attended = self.graph.node(
            "MultiHeadAttention", queries_keys_values, domain=MICROSOFT_DOMAIN, num_heads=self.weights.heads
        )
        states = self._add_and_norm(self._linear(attended, [prefix + "ao"], width), states, prefix + "aln")
        activated = self.graph.node("Gelu", [self._linear(states, [prefix + "fi"], inner)], domain=MICROSOFT_DOMAIN)
        name = prefix + "fo"
        if layer in OUTLIER_LAYERS:
            return self._add_and_norm(self._precise_linear(activated, name, width), states, prefix + "oln")
        return self._add_and_norm(self._linear(activated, [name], width), states, prefix + "oln")

    def _linear(self, states: str, names: list[str], outputs: int) -> str:
        """Multiply with 8-bit weights; several matrices side by side."""
        matrix = np.concatenate([self.weights.matrix(f"{name}.w", outputs).to_float32() for name in names])
        bias = np.concatenate([self.weights.vector(f"{name}.b") for name in names])
        return self.graph.int8_linear(states, names[0], matrix.T, bias)

    def _precise_linear(self, states: str, name: str, outputs: int) -> str:
        """Multiply with the 4-bit weights as they are."""
        matrix = self.weights.matrix(f"{name}.w", outputs)
        constants = [
            self.graph.constant(f"{name}.levels", _pack_pairs(matrix)),
            self.graph.constant(f"{name}.scales", matrix.scales.ravel()),
            "",
            "",
            self.graph.constant(f"{name}.bias", self.weights.vector(f"{name}.b")),
        ]
        return self.graph.node(
            "MatMulNBits",
            [states, *constants],
            domain=MICROSOFT_DOMAIN,
            K=matrix.scales.shape[1] * BLOCK,
            N=outputs,
            bits=4,
            block_size=BLOCK,
            accuracy_level=_INT8_ACCURACY_LEVEL,
        )

    def _add_and_norm(self, states: str, residual: str, name: str) -> str:
        return self.graph.node(
            "SkipLayerNormalization",
            [states, residual, *self._norm_constants(name)],
            domain=MICROSOFT_DOMAIN,
            epsilon=self.weights.epsilon,
        )

    def _norm_constants(self, name: str) -> list[str]:
        return [self.graph.constant(f"{name}.{part}", self.weights.vector(f"{name}.{part}")) for part in "wb"]


def _pack_pairs(matrix: QuantizedMatrix) -> NDArray[np.uint8]:
    """Two neighboring numbers in a byte, the first in the low half: the layout of MatMulNBits."""
    packed: NDArray[np.uint8] = matrix.levels[..., 0::2] | (matrix.levels[..., 1::2] << np.uint8(4))
    return packed
