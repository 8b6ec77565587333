"""Graphs that the writer makes, run by onnxruntime."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.models.e5.onnx_writer import OnnxGraph, has_vnni
from pipeline.models.model_threads import open_session


def _product(states: NDArray[np.float32], weights: NDArray[np.float32], *, signed: bool | None) -> NDArray[Any]:
    graph = OnnxGraph(signed_weights=signed)
    output = graph.int8_linear("states", "matrix", weights)
    inputs, outputs = weights.shape
    model = graph.model(source="states", output=output, shape=("rows", inputs), output_shape=("rows", outputs))
    (product,) = open_session(model).run(None, {"states": states})
    return np.asarray(product)


@pytest.mark.parametrize("signed", [None, False])
def test_large_weights_overflow_on_no_processor(signed: bool | None) -> None:
    weights, states = np.ones((64, 8), np.float32), np.ones((3, 64), np.float32)
    assert np.allclose(_product(states, weights, signed=signed), states @ weights, rtol=0.01)


@pytest.mark.skipif(not has_vnni(), reason="needs a peer that is not installed: a processor with VNNI")
def test_signed_and_unsigned_weights_give_the_same_numbers() -> None:
    random = np.random.default_rng(3)
    weights, states = (random.standard_normal(shape).astype(np.float32) for shape in ((64, 8), (5, 64)))
    assert np.array_equal(_product(states, weights, signed=True), _product(states, weights, signed=False))
