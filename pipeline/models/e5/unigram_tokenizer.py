"""SentencePiece's Unigram tokenizer: the most probable split of each word into pieces of a vocabulary.

The `tokenizers` package gives the same pieces, but takes a second and 200 MB to load a vocabulary of 250,000 pieces.
"""

import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from pipeline.models.e5.e5_weights import Vocabulary
from pipeline.rows import StringColumn

WORD_START = "\u2581"
WORD_CACHE_SIZE = 32_768
_UNKNOWN_PENALTY = 10.0
_MAX_WORD_CHARS = 256
"""Characters of one run without spaces that are split together; longer runs are cut."""


class UnigramTokenizer:
    """Turns a text into ids of pieces, without markers of begin and end."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids = _PieceIds(vocabulary.pieces)
        self._scores: Sequence[float] = vocabulary.scores
        self._normalization = vocabulary.normalization
        self._unknown = vocabulary.unknown
        self._unknown_score = min(vocabulary.scores) - _UNKNOWN_PENALTY
        self._max_piece_chars = max(map(len, vocabulary.pieces))
        self._cached_word_ids = lru_cache(maxsize=WORD_CACHE_SIZE)(self._split_word)

    def token_ids(self, text: str) -> list[int]:
        """The pieces of a text."""
        return list(chain.from_iterable(map(self._word_ids, self._words(text))))

    def _words(self, text: str) -> list[str]:
        replaced = text if text.isascii() else unicodedata.normalize("NFKC", text.translate(self._normalization))
        return [WORD_START + word for word in replaced.split()]

    def _word_ids(self, word: str) -> tuple[int, ...]:
        if len(word) <= _MAX_WORD_CHARS:
            return self._cached_word_ids(word)
        parts = (word[at : at + _MAX_WORD_CHARS] for at in range(0, len(word), _MAX_WORD_CHARS))
        return tuple(chain.from_iterable(map(self._split_word, parts)))

    def _split_word(self, word: str) -> tuple[int, ...]:
        """The best split (Viterbi); `best[end]`: score up to `end`, last piece and the start of that piece."""
        ids, scores, count = self._ids, self._scores, len(word)
        best: list[tuple[float, int, int]] = [(0.0, -1, 0)] + [(float("-inf"), -1, 0)] * count
        for start in range(count):
            so_far = best[start][0]
            for end in range(start + 1, min(count, start + self._max_piece_chars) + 1):
                piece = ids.get(word[start:end])
                if piece is not None and so_far + scores[piece] > best[end][0]:
                    best[end] = (so_far + scores[piece], piece, start)
            if ids.get(word[start]) is None and so_far + self._unknown_score > best[start + 1][0]:
                best[start + 1] = (so_far + self._unknown_score, self._unknown, start)
        return self._backtrack(best)

    def _backtrack(self, best: Sequence[tuple[float, int, int]]) -> tuple[int, ...]:
        pieces, at = list[int](), len(best) - 1
        while at:
            _, piece, start = best[at]
            if piece != self._unknown or not pieces or pieces[-1] != self._unknown:
                pieces.append(piece)
            at = start
        return tuple(reversed(pieces))


class _PieceIds:
    """Ids of pieces by a 64-bit hash of their text: 12 bytes a piece, where a dictionary takes 120."""

    def __init__(self, pieces: StringColumn) -> None:
        keys = np.fromiter(map(_hash, pieces), np.int64, len(pieces))
        order = np.argsort(keys)
        self._keys = array("q", keys[order].tobytes())
        self._ids = array("i", order.astype(np.intc).tobytes())

    def get(self, piece: str) -> int | None:
        """The id; a text that is no piece is taken for one in one of 10^13 cases."""
        key = _hash(piece)
        at = bisect_left(self._keys, key)
        return self._ids[at] if at < len(self._keys) and self._keys[at] == key else None


def _hash(piece: str) -> int:
    """Python hashes a string's memory, in which one Chinese character may be as two Latin ones: their counts differ."""
    return hash(piece) ^ len(piece)
