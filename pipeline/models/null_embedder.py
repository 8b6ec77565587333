"""No embedder: search by words only."""

from collections.abc import Callable, Sequence

import numpy as np

from pipeline.rows import Vector


class NullEmbedder:
    """Zero vectors of one number: every cosine is zero, and ranking is left to the words."""

    name = "none"
    dimensions = 1

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """A zero for each text."""
        return [np.zeros(1, np.float32) for _ in texts]

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:  # noqa: ARG002 - the port's shape
        """Zero."""
        return np.zeros(1, np.float32)
