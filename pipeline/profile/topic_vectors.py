"""Vectors of the topics that buckets are made of: from a file for the default models, else embedded.

A file, because embedding 175 texts beside a large import takes longer than somebody waits for a first profile.
"""

import asyncio
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.ports import Embedder
from pipeline.profile.bucket_topics import TOPICS
from pipeline.rows import Vector
from pipeline.vector_classifier import center_vectors


@dataclass(frozen=True, slots=True)
class TopicVectors:
    """Vectors of the topics by which descriptions and facts are compared.

    Shapes: `examples` and `descriptions` (topics, dimensions), unit length without the means; `example_mean`,
    `description_mean` (dimensions,).
    """

    examples: NDArray[np.float32]
    descriptions: NDArray[np.float32]
    example_mean: Vector
    description_mean: Vector

    def save(self, path: Path) -> None:
        """Write a file in half precision."""
        np.save(path, np.vstack(astuple(self)).astype(np.float16))


def topics_file(embedder_name: str) -> Path:
    """Return where an embedder's topics lie, if they do; `python -m bench.topic_vectors` writes them."""
    return Path(__file__).parent / f"topics_{embedder_name.replace(' ', '_')}.npy"


async def topic_vectors(embedder: Embedder) -> TopicVectors:
    path = topics_file(embedder.name)
    return _read(path) if path.is_file() else await embed_topics(embedder)


def _read(path: Path) -> TopicVectors:
    rows = np.load(path).astype(np.float32)
    return TopicVectors(rows[: len(TOPICS)], rows[len(TOPICS) : -2], rows[-2], rows[-1])


async def embed_topics(embedder: Embedder) -> TopicVectors:
    vectors = np.stack(await embedder.embed_documents([text for texts in TOPICS.values() for text in texts]))
    offsets = np.cumsum([0, *map(len, TOPICS.values())])[:-1]
    mean = vectors.mean(axis=0)
    counts = np.array([len(texts) for texts in TOPICS.values()], np.float32)
    examples = (np.add.reduceat(center_vectors(vectors, mean), offsets, axis=0) / counts[:, None]).astype(np.float32)
    descriptions = np.stack(await asyncio.gather(*map(embedder.embed_query, TOPICS)))
    description_mean = descriptions.mean(axis=0)
    return TopicVectors(
        center_vectors(examples, np.zeros_like(mean)),
        center_vectors(descriptions, description_mean),
        mean,
        description_mean,
    )
