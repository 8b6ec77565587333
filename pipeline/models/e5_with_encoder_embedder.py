"""The default embedder, of two models: e5's vector, and beside it a part from the universal sentence encoder.

The two are trained differently and err differently. Their cosine is one: of the part, ENCODER_WEIGHT squared stands
beside the square of what e5's vector keeps without its common part. A text in a language that the encoder does not
know has a part of zeros.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np

from pipeline.models.e5.e5_embedder import DIMENSIONS, MAX_CHARS, QUERY_PREFIX, E5Embedder, E5Model
from pipeline.models.e5.e5_weights import E5Weights, locate_weights
from pipeline.models.model_threads import ModelThreads
from pipeline.models.sentence_encoder.encoder_model import PART_DIMENSIONS, EncoderModel, EncoderProjection
from pipeline.models.sentence_encoder.encoder_weights import EncoderWeights, locate_encoder
from pipeline.rows import Vector

NAME = "multilingual-e5-small with sentence encoder"
ENCODER_WEIGHT = np.float32(0.3)
"""Length of the part beside e5's vector of length 1, most of which is common to all texts."""


class E5WithEncoderModel:
    """Both models in memory. Safe to use from several threads."""

    def __init__(self, e5: E5Model, encoder: EncoderModel, projection: EncoderProjection) -> None:
        self._e5, self._encoder, self._projection = e5, encoder, projection
        self.word_vector = e5.word_vector

    def embed(self, prefix: str, text: str) -> Vector:
        """A vector of about unit length; zero for a text without characters."""
        own = self._e5.embed(prefix, text)
        if not own.any():
            return np.zeros(DIMENSIONS + PART_DIMENSIONS, np.float32)
        vector, confidence = self._encoder.encode(text[:MAX_CHARS])
        part = self._projection.part(vector, is_question=prefix == QUERY_PREFIX)
        part *= ENCODER_WEIGHT * np.float32(confidence)
        return np.concatenate([own, part])


class E5WithEncoderEmbedder(E5Embedder):
    """`ports.Embedder` of both models; word vectors are e5's."""

    name = NAME
    dimensions = DIMENSIONS + PART_DIMENSIONS

    @classmethod
    def from_package(cls) -> "E5WithEncoderEmbedder":
        """Open the models of the installed packages. Raises FileNotFoundError that names a missing file."""
        return cls(_open_threads(locate_weights(), locate_encoder()))


@lru_cache(maxsize=1)
def _open_threads(e5: Path, encoder: Path) -> ModelThreads:
    return ModelThreads(
        lambda: E5WithEncoderModel(
            E5Model(E5Weights(e5)), EncoderModel(EncoderWeights(encoder)), EncoderProjection.from_file()
        ),
        DIMENSIONS,
    )
