"""Embedder of static token vectors: those that the wordllama package carries (256 numbers each).

Its two files are read as they are: importing the package would configure the root logger, and its own
offline loader looks in a folder that its wheel does not have. A text is the mean of its tokens' vectors,
so it needs no model run, no network and no other hardware to give the same numbers.
"""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from pipeline.packed_vectors import round_vector
from pipeline.rows import Vector
from pipeline.runtime.cooperative_yield import run_cooperatively

TOKENIZER_FILE = "l2_supercat_tokenizer_config.json"
WEIGHTS_FILE = "l2_supercat_256.safetensors"
TENSOR_NAME = "embedding.weight"
PIECE_CACHE_SIZE = 65_536
QUERY_PIECE_CACHE_SIZE = 4_096
"""Words of queries; their tokens are weighted by position in the word."""
_MAX_PIECE_CHARS = 256
"""Characters of one run without spaces that are tokenized together; longer runs are cut."""
_MAX_INLINE_QUERY_CHARS = 2_000
_WORD = re.compile(r"\w+")
TokenVectors = NDArray[np.float16]
_HALF_BITS_MASK = np.uint32(0x8FFFE000).astype(np.int32)
"""Mask that keeps the bits of a half within a float and drops the copies of its sign."""


class WordLlamaEmbedder:
    """Static vectors; float32 and of unit length, or zero for a text without tokens."""

    def __init__(self, token_vectors: TokenVectors, tokenizer: Tokenizer) -> None:
        self._token_vectors = token_vectors
        self._tokenizer = tokenizer
        self._cached_token_ids = lru_cache(maxsize=PIECE_CACHE_SIZE)(self._tokenize_ids)
        self._cached_token_offsets = lru_cache(maxsize=QUERY_PIECE_CACHE_SIZE)(self._tokenize_offsets)
        self.name = f"wordllama-{token_vectors.shape[1]}"
        self.dimensions: int = token_vectors.shape[1]

    @classmethod
    def from_package(cls) -> "WordLlamaEmbedder":
        """Open the installed wordllama package. Raises FileNotFoundError that names a missing file."""
        files = _locate_package_files()
        return cls(*_load_files(files[WEIGHTS_FILE], files[TOKENIZER_FILE]))

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return await run_cooperatively(sum(map(len, texts)), lambda: map(self._embed_text, texts))

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:
        """The query's vector; each token counts with the weight of the word it belongs to."""
        if len(text) <= _MAX_INLINE_QUERY_CHARS:
            return self.encode_query(text, term_weight)
        return await asyncio.to_thread(self.encode_query, text, term_weight)

    def encode_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:
        """Embed a query, weighted by word; unweighted when no word has a weight."""
        tokens: list[int] = []
        weights: list[float] = []
        for piece in _split_pieces(text) if term_weight is not None else ():
            ids = self._cached_token_ids(piece)
            tokens.extend(ids)
            weights.extend(self._token_weights(piece, term_weight) if term_weight is not None else ())
        if not any(weights):
            return self._embed_text(text)
        rows = half_to_float32(self._token_vectors[np.array(tokens)])
        rows *= np.array(weights, np.float32)[:, None]
        return _to_unit_vector(rows.sum(axis=0))

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        tokens = [self._cached_token_ids(word) if _is_single_piece(word) else self._token_ids(word) for word in words]
        filled = [at for at, word_tokens in enumerate(tokens) if len(word_tokens)]
        vectors = np.zeros((len(words), self.dimensions), np.float32)
        if filled:
            starts = np.cumsum([0, *(len(tokens[at]) for at in filled[:-1])])
            flat = np.array([token for at in filled for token in tokens[at]])
            used, places = np.unique(flat, return_inverse=True)
            sums = np.add.reduceat(half_to_float32(self._token_vectors[used])[places], starts, axis=0)
            lengths = np.sqrt(np.vecdot(sums, sums))[:, None]
            vectors[filled] = np.divide(sums, lengths, out=sums, where=lengths > 0)
        return vectors

    def _embed_text(self, text: str) -> Vector:
        tokens = np.array(self._token_ids(text), np.int64)
        return round_vector(_to_unit_vector(half_to_float32(self._token_vectors[tokens]).sum(axis=0)))

    def _token_weights(self, piece: str, term_weight: Callable[[str], float]) -> list[float]:
        spans = [(found.start(), found.end(), term_weight(found.group())) for found in _WORD.finditer(piece)]
        return [
            max((value for begin, finish, value in spans if begin < end and start < finish), default=0.0)
            for start, end in self._cached_token_offsets(piece)
        ]

    def _token_ids(self, text: str) -> list[int]:
        return list(chain.from_iterable(map(self._cached_token_ids, _split_pieces(text))))

    def _tokenize_offsets(self, piece: str) -> tuple[tuple[int, int], ...]:
        return tuple(self._tokenizer.encode(piece, add_special_tokens=False).offsets)

    def _tokenize_ids(self, piece: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(piece, add_special_tokens=False).ids)


def _is_single_piece(word: str) -> bool:
    """Tell whether a word needs no splitting or normalizing."""
    return word.isascii() and word.isalnum() and word.islower() and len(word) <= _MAX_PIECE_CHARS


def _split_pieces(text: str) -> list[str]:
    """Runs without spaces, lower-cased: tokens never span a space, so each can be tokenized by itself."""
    runs = _replace_lone_surrogates(text).lower().split()
    if max(map(len, runs), default=0) <= _MAX_PIECE_CHARS:
        return runs
    return [run[at : at + _MAX_PIECE_CHARS] for run in runs for at in range(0, len(run), _MAX_PIECE_CHARS)]


def _replace_lone_surrogates(text: str) -> str:
    """Replace lone surrogates, which the tokenizer rejects together with the whole text."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def _to_unit_vector(vector: Vector) -> Vector:
    length = float(np.sqrt(vector @ vector))
    return vector / np.float32(length) if length > 0 else vector


def _locate_package_files() -> dict[str, Path]:
    try:
        listed = distribution("wordllama").files or []
    except PackageNotFoundError:
        listed = []
    found = {file.name: Path(str(file.locate())) for file in listed if file.name in (TOKENIZER_FILE, WEIGHTS_FILE)}
    for name in (TOKENIZER_FILE, WEIGHTS_FILE):
        if name not in found or not found[name].is_file():
            raise FileNotFoundError(
                f"The wordllama package has no file {name}. Install wordllama again, "
                "or set RECOLLECT_EMBEDDER to openai or none."
            )
    return found


@lru_cache(maxsize=1)
def _load_files(weights: Path, tokenizer: Path) -> tuple[TokenVectors, Tokenizer]:
    """Load both files, once per process: a replay opens a second embedder beside the serving one."""
    return _map_token_vectors(weights), Tokenizer.from_file(str(tokenizer))


def _map_token_vectors(path: Path) -> TokenVectors:
    """The table as a read-only map of the file: only the rows in use are ever in memory.

    safetensors: 8 bytes of little-endian header length, a JSON header, then the numbers.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensor = json.loads(file.read(length))[TENSOR_NAME]
    if tensor["dtype"] != "F16":
        raise ValueError(f"{path.name} holds {tensor['dtype']} numbers, not F16: another wordllama version.")
    offset = 8 + length + tensor["data_offsets"][0]
    # The np.memmap class adds overhead to every operation; a plain array over the mapping does not.
    return np.asarray(np.memmap(path, np.float16, "r", offset, tuple(tensor["shape"])))


def half_to_float32(halves: NDArray[np.float16]) -> NDArray[np.float32]:
    """Convert finite float16 numbers to float32 in less than a quarter of the time that numpy takes.

    Shifted by 13 bits they are float32 numbers whose exponent has the bias 15 instead of 127.
    """
    bits: NDArray[Any] = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _HALF_BITS_MASK
    floats = bits.view(np.float32)
    floats *= np.float32(2.0 ** (127 - 15))
    return floats
