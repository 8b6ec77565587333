"""Graphs that the writer makes, run by onnxruntime."""

import numpy as np

from pipeline.models.e5.onnx_writer import OnnxGraph
from pipeline.models.onnx_session import open_session


def test_large_weights_overflow_on_no_processor() -> None:
    weights, states = np.ones((64, 8), np.float32), np.ones((3, 64), np.float32)
    graph = OnnxGraph()
    output = graph.int8_linear("states", "matrix", weights)
    session = open_session(graph.model(source="states", output=output, shape=("rows", 64), output_shape=("rows", 8)))
    (product,) = session.run(None, {"states": states})
    assert np.allclose(product, states @ weights, rtol=0.01)
