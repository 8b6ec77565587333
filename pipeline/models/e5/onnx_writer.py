"""Writer of ONNX models: the few protobuf messages that an inference session reads, without the `onnx` package."""

import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MICROSOFT_DOMAIN = "com.microsoft"
"""Domain of onnxruntime's own operators."""
_IR_VERSION = 8
_OPSET_VERSION = 17
FLOAT = 1
"""Number of the type float32."""
_ZERO = 128
"""Level of a weight of 0, where levels are unsigned."""
_PROCESSOR = Path("/proc/cpuinfo")
_DATA_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.uint8): 2, np.dtype(np.int8): 3, np.dtype(np.int64): 7}
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT = 1, 2
_WIRE_VARINT, _WIRE_BYTES, _WIRE_FLOAT = 0, 2, 5


@cache
def has_vnni() -> bool:
    """Return whether this processor is known to add products of bytes in 32 bits."""
    flags = _PROCESSOR.read_text(errors="replace") if _PROCESSOR.exists() else ""
    return "avx512_vnni" in flags or "avx_vnni" in flags


class OnnxGraph:
    """A graph under construction; nodes run in the order in which they are added."""

    def __init__(self, *, signed_weights: bool | None = None) -> None:
        """`signed_weights`: 8-bit weights are multiplied as signed ones; by default where the processor has VNNI."""
        self._zero = 0 if (has_vnni() if signed_weights is None else signed_weights) else _ZERO
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Add a constant tensor; returns its name."""
        shape = b"".join(_varint_field(1, size) for size in values.shape)
        data_type = _varint_field(2, _DATA_TYPES[values.dtype])
        raw = _bytes_field(9, np.ascontiguousarray(values).tobytes())
        self._constants.append(_bytes_field(5, shape + data_type + _text_field(8, name) + raw))
        return name

    def node(self, operator: str, inputs: Sequence[str], *, domain: str = "", **attributes: float) -> str:
        """Add an operator with one output; returns the output's name."""
        return self.node_with_outputs(operator, inputs, 1, domain=domain, **attributes)[0]

    def node_with_outputs(
        self, operator: str, inputs: Sequence[str], outputs: int, *, domain: str = "", **attributes: float
    ) -> list[str]:
        """Add an operator; returns its outputs' names. An empty input name leaves out an optional input."""
        names = [f"{operator}_{len(self._nodes)}_{at}" for at in range(outputs)]
        parts = [_text_field(1, name) for name in inputs]
        parts += [_text_field(2, name) for name in names]
        parts += [_text_field(4, operator), _text_field(7, domain)]
        parts += [_bytes_field(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(_bytes_field(1, b"".join(parts)))
        return names

    def int8_linear(
        self, states: str, name: str, matrix: NDArray[np.float32], bias: NDArray[np.float32] | None = None
    ) -> str:
        """Multiply with 8-bit weights (inputs, outputs) of one scale per output; returns the output's name.

        Signed levels take a quarter less time where a processor has VNNI. Others add their products in 16 bits, which
        overflow; the same levels plus 128 give the same products there.
        """
        scales = np.abs(matrix).max(axis=0) / np.float32(_ZERO - 1)
        kind = np.uint8 if self._zero else np.int8
        constants = [
            self.constant(f"{name}.levels", (np.rint(matrix / scales) + self._zero).astype(kind)),
            self.constant(f"{name}.scales", scales),
            self.constant(f"{name}.zeros", np.full(len(scales), self._zero, kind)),
        ]
        if bias is not None:
            constants.append(self.constant(f"{name}.bias", bias))
        return self.node("DynamicQuantizeMatMul", [states, *constants], domain=MICROSOFT_DOMAIN)

    def model(
        self,
        *,
        source: str,
        output: str,
        shape: Sequence[int | str],
        output_shape: Sequence[int | str] | None = None,
    ) -> bytes:
        """Serialize a model that turns one float tensor into another, of the same shape unless one is given.

        Names are free dimensions.
        """
        graph = [*self._nodes, _text_field(2, "graph"), *self._constants]
        graph.append(_bytes_field(11, _float_value(source, shape)))
        graph.append(_bytes_field(12, _float_value(output, output_shape or shape)))
        opsets = [_opset("", _OPSET_VERSION), _opset(MICROSOFT_DOMAIN, 1)]
        return _varint_field(1, _IR_VERSION) + _bytes_field(7, b"".join(graph)) + b"".join(opsets)


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _text_field(1, name) + _varint_field(3, value) + _varint_field(20, _ATTRIBUTE_INT)
    number = _tag(2, _WIRE_FLOAT) + struct.pack("<f", value)
    return _text_field(1, name) + number + _varint_field(20, _ATTRIBUTE_FLOAT)


def _float_value(name: str, shape: Sequence[int | str]) -> bytes:
    sizes = [_varint_field(1, size) if isinstance(size, int) else _text_field(2, size) for size in shape]
    tensor = _varint_field(1, FLOAT) + _bytes_field(2, b"".join(_bytes_field(1, size) for size in sizes))
    return _text_field(1, name) + _bytes_field(2, _bytes_field(1, tensor))


def _opset(domain: str, version: int) -> bytes:
    return _bytes_field(8, _text_field(1, domain) + _varint_field(2, version))


def _text_field(number: int, text: str) -> bytes:
    return _bytes_field(number, text.encode())


def _bytes_field(number: int, value: bytes) -> bytes:
    return _tag(number, _WIRE_BYTES) + _varint(len(value)) + value


def _varint_field(number: int, value: int) -> bytes:
    return _tag(number, _WIRE_VARINT) + _varint(value)


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
