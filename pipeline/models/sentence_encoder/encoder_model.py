"""The universal sentence encoder in memory, and the part of a text's vector that comes from it."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.models.e5.unigram_tokenizer import UnigramTokenizer
from pipeline.models.model_threads import open_session
from pipeline.models.sentence_encoder.encoder_graph import INPUT, build_graph
from pipeline.models.sentence_encoder.encoder_weights import WIDTH, EncoderWeights
from pipeline.rows import Vector

PROJECTION_FILE = Path(__file__).parent / "encoder_projection.npy"
"""A row per number of the part: weights of the encoder's vector, then what statements and questions have in common.

Made by `python -m bench.common_part`."""
PART_DIMENSIONS = 192
_MAX_TOKENS = 512
_UNKNOWN_LANGUAGE_SCORE = -4.0
_KNOWN_LANGUAGE_SCORE = -3.3
"""Log probability per byte below which a text is in a language that the encoder was not trained on, and from which it
is in one of its sixteen. On the open half of the paraphrases the medians are -1.2 to -3.2 and -3.5 to -5.1."""
_UNKNOWN_PIECES_FACTOR = 4.0
"""A text of which a quarter of the pieces are unknown counts as one in another language."""


class EncoderModel:
    """The encoder. Safe to use from several threads."""

    def __init__(self, weights: EncoderWeights) -> None:
        self._session = open_session(build_graph(weights))
        self._weights = weights
        self._tokenizer = UnigramTokenizer(weights.vocabulary)
        self._scores = np.array(weights.vocabulary.scores, np.float32)

    def encode(self, text: str) -> tuple[Vector, float]:
        """The unit vector of a text that has characters, and how far the encoder knows its language: 0 to 1."""
        vocabulary = self._weights.vocabulary
        pieces = np.array(self._tokenizer.token_ids(text)[:_MAX_TOKENS], np.int64)
        tokens = np.concatenate([[vocabulary.begin], pieces, [vocabulary.end]])
        (vectors,) = self._session.run(None, {INPUT: self._weights.token_vectors(tokens)})
        vector: Vector = vectors[0]
        return vector / np.float32(np.sqrt(vector @ vector)), self._confidence(text, pieces)

    def _confidence(self, text: str, pieces: NDArray[np.int64]) -> float:
        if not len(pieces):
            return 0.0
        unknown = np.count_nonzero(pieces == self._weights.vocabulary.unknown) / len(pieces)
        read_bytes = len(text.encode("utf-8", "surrogatepass"))
        score = float(self._scores[pieces].sum()) / read_bytes
        known = (score - _UNKNOWN_LANGUAGE_SCORE) / (_KNOWN_LANGUAGE_SCORE - _UNKNOWN_LANGUAGE_SCORE)
        return min(max(known, 0.0), 1.0) * max(1.0 - _UNKNOWN_PIECES_FACTOR * unknown, 0.0)


class EncoderProjection:
    """Takes the common part out of the encoder's vectors, and keeps the numbers in which words differ most."""

    def __init__(self, stored: NDArray[np.float16]) -> None:
        numbers = stored.astype(np.float32)
        self._matrix, self._statements, self._questions = numbers[:, :WIDTH], numbers[:, WIDTH], numbers[:, WIDTH + 1]

    @classmethod
    def from_file(cls) -> "EncoderProjection":
        """Read the file of this package."""
        return cls(np.load(PROJECTION_FILE))

    def part(self, vector: Vector, *, is_question: bool) -> Vector:
        """The projection of a text's vector, of unit length."""
        part: Vector = self._matrix @ vector - (self._questions if is_question else self._statements)
        return part / np.float32(np.sqrt(part @ part))
