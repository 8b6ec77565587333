"""The default embedder: the static token vectors that the wordllama package carries (256 numbers each).

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

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from pipeline.breath import steps
from pipeline.rows import Vector

TOKENIZER = "l2_supercat_tokenizer_config.json"
WEIGHTS = "l2_supercat_256.safetensors"
TENSOR = "embedding.weight"
PIECE_CACHE = 65_536
ASKED_CACHE = 4_096
"""Words of questions, whose tokens are weighed by where they stand."""
_LONGEST_PIECE = 256
"""Characters of one run without spaces that are tokenized together; longer runs are cut."""
_INLINE_QUERY = 2_000
_WORD = re.compile(r"\w+")
_SIGN_AND_REST = np.uint32(0x8FFFE000).astype(np.int32)
"""The bits of a half within a float, without the copies of its sign."""

Table = NDArray[np.float16]


class WordLlamaEmbedder:
    """Static vectors; float32 and of unit length, or zero for a text without tokens."""

    def __init__(self, table: Table, tokenizer: Tokenizer) -> None:
        self._table = table
        self._tokenizer = tokenizer
        self._ids = lru_cache(maxsize=PIECE_CACHE)(self._tokenize)
        self._offsets = lru_cache(maxsize=ASKED_CACHE)(self._find)
        self.name = f"wordllama-{table.shape[1]}"
        self.dimensions: int = table.shape[1]

    @classmethod
    def packaged(cls) -> "WordLlamaEmbedder":
        """From the installed wordllama package; FileNotFoundError says what is missing."""
        files = _packaged_files()
        return cls(*_read(files[WEIGHTS], files[TOKENIZER]))

    async def documents(self, texts: Sequence[str]) -> list[Vector]:
        """One vector per text."""
        return await steps(sum(map(len, texts)), lambda: map(self._embedded, texts))

    async def query(self, text: str, weight: Callable[[str], float] | None = None) -> Vector:
        """The query's vector; each token counts with the weight of the word it belongs to."""
        if len(text) <= _INLINE_QUERY:
            return self.embed_query(text, weight)
        return await asyncio.to_thread(self.embed_query, text, weight)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of a batch. Each depends on its own text only."""
        return [self._embedded(text) for text in texts]

    def embed_query(self, text: str, weight: Callable[[str], float] | None = None) -> Vector:
        """As `embed` for one text, weighted by word; without any weight left, plain."""
        tokens: list[int] = []
        weights: list[float] = []
        for piece in _pieces(text) if weight is not None else ():
            ids = self._ids(piece)
            tokens.extend(ids)
            weights.extend(self._piece_weights(piece, weight) if weight is not None else ())
        if not any(weights):
            return self._embedded(text)
        rows = floats(self._table[np.array(tokens)])
        rows *= np.array(weights, np.float32)[:, None]
        return _unit(rows.sum(axis=0))

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """As `ports.WordVectors`."""
        tokens = [self._ids(word) if _plain(word) else self._tokens(word) for word in words]
        filled = [at for at, own in enumerate(tokens) if len(own)]
        vectors = np.zeros((len(words), self.dimensions), np.float32)
        if filled:
            starts = np.cumsum([0, *(len(tokens[at]) for at in filled[:-1])])
            flat = np.array([token for at in filled for token in tokens[at]])
            used, places = np.unique(flat, return_inverse=True)
            sums = np.add.reduceat(floats(self._table[used])[places], starts, axis=0)
            lengths = np.sqrt(np.vecdot(sums, sums))[:, None]
            vectors[filled] = np.divide(sums, lengths, out=sums, where=lengths > 0)
        return vectors

    def _embedded(self, text: str) -> Vector:
        return _unit(floats(self._table[np.array(self._tokens(text), np.int64)]).sum(axis=0))

    def _piece_weights(self, piece: str, weight: Callable[[str], float]) -> list[float]:
        spans = [(found.start(), found.end(), weight(found.group())) for found in _WORD.finditer(piece)]
        return [
            max((value for begin, finish, value in spans if begin < end and start < finish), default=0.0)
            for start, end in self._offsets(piece)
        ]

    def _tokens(self, text: str) -> list[int]:
        return list(chain.from_iterable(map(self._ids, _pieces(text))))

    def _find(self, piece: str) -> tuple[tuple[int, int], ...]:
        return tuple(self._tokenizer.encode(piece, add_special_tokens=False).offsets)

    def _tokenize(self, piece: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(piece, add_special_tokens=False).ids)


def _plain(word: str) -> bool:
    """A word that is its own only piece."""
    return word.isascii() and word.isalnum() and word.islower() and len(word) <= _LONGEST_PIECE


def _pieces(text: str) -> list[str]:
    """Runs without spaces, lower-cased: tokens never span a space, so each can be tokenized by itself."""
    runs = _encodable(text).lower().split()
    if max(map(len, runs), default=0) <= _LONGEST_PIECE:
        return runs
    return [run[at : at + _LONGEST_PIECE] for run in runs for at in range(0, len(run), _LONGEST_PIECE)]


def _encodable(text: str) -> str:
    """Half a surrogate pair is no character: the tokenizer would refuse the whole text for it."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def _unit(vector: Vector) -> Vector:
    length = float(np.sqrt(vector @ vector))
    return vector / np.float32(length) if length > 0 else vector


def floats(numbers: Table) -> NDArray[np.float32]:
    """Finite halves as they are, in a quarter of the time that numpy takes.

    13 bits further up they are floats but for where exponents count from: -15, not -127.
    """
    bits = numbers.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _SIGN_AND_REST
    made = bits.view(np.float32)
    made *= np.float32(2.0 ** (127 - 15))
    return made


def _packaged_files() -> dict[str, Path]:
    try:
        listed = distribution("wordllama").files or []
    except PackageNotFoundError:
        listed = []
    found = {file.name: Path(str(file.locate())) for file in listed if file.name in (TOKENIZER, WEIGHTS)}
    for name in (TOKENIZER, WEIGHTS):
        if name not in found or not found[name].is_file():
            raise FileNotFoundError(
                f"The wordllama package has no file {name}. Install wordllama again, "
                "or set RECOLLECT_EMBEDDER to openai or none."
            )
    return found


@lru_cache(maxsize=1)
def _read(weights: Path, tokenizer: Path) -> tuple[Table, Tokenizer]:
    """Read once in a process, and never changed: a replay opens an embedder beside the one that serves."""
    return _map_table(weights), Tokenizer.from_file(str(tokenizer))


def _map_table(path: Path) -> Table:
    """The table as a read-only map of the file: only the rows in use are ever in memory.

    safetensors: 8 bytes of little-endian header length, a JSON header, then the numbers.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensor = json.loads(file.read(length))[TENSOR]
    if tensor["dtype"] != "F16":
        raise ValueError(f"{path.name} holds {tensor['dtype']} numbers, not F16: another wordllama version.")
    offset = 8 + length + tensor["data_offsets"][0]
    # Its own class asks after the file again in every operation.
    return np.asarray(np.memmap(path, np.float16, "r", offset, tuple(tensor["shape"])))
