"""Vectors of the topics that buckets are made of: from a file for the default models, else embedded.

A file, because embedding 175 texts beside a large import takes longer than somebody waits for a first profile.
"""

import asyncio
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.ports import Embedder
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


@cache
def topics() -> dict[str, list[str]]:
    """Return example facts by topic, in the order of the files of vectors."""
    paragraphs = Path(__file__).with_name("topics.txt").read_text("utf-8").strip().split("\n\n")
    lines = ([line.strip() for line in paragraph.split("\n")] for paragraph in paragraphs)
    return {topic: examples for topic, *examples in lines}


def topics_file(embedder_name: str) -> Path:
    """Return where an embedder's topics lie, if they do; `python -m bench.topic_vectors` writes them."""
    return Path(__file__).parent / f"topics_{embedder_name.replace(' ', '_')}.npy"


async def topic_vectors(embedder: Embedder) -> TopicVectors:
    path = topics_file(embedder.name)
    return _read(path) if path.is_file() else await embed_topics(embedder)


def _read(path: Path) -> TopicVectors:
    rows, count = np.load(path).astype(np.float32), len(topics())
    return TopicVectors(rows[:count], rows[count:-2], rows[-2], rows[-1])


async def embed_topics(embedder: Embedder) -> TopicVectors:
    examples_by_topic = topics().values()
    vectors = np.stack(await embedder.embed_documents([text for texts in examples_by_topic for text in texts]))
    counts = np.array([*map(len, examples_by_topic)])
    offsets = np.cumsum(counts) - counts
    mean = vectors.mean(axis=0)
    sums = np.add.reduceat(center_vectors(vectors, mean), offsets, axis=0)
    examples = (sums / counts[:, None]).astype(np.float32)
    descriptions = np.stack(await asyncio.gather(*map(embedder.embed_query, topics())))
    description_mean = descriptions.mean(axis=0)
    return TopicVectors(
        center_vectors(examples, np.zeros_like(mean)),
        center_vectors(descriptions, description_mean),
        mean,
        description_mean,
    )
