"""Facts sorted into five buckets that are described in several wordings: `python -m bench.memory.buckets`.

Both halves of both collections of `bench/datasets/buckets`, beside facts that belong into none of the buckets.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.datasets import buckets
from bench.memory.formed_memories import formed_memories
from pipeline.models import open_embedder
from pipeline.ports import Embedder
from pipeline.profile.bucket_classifier import build_classifier
from pipeline.profile.topic_vectors import topic_vectors
from pipeline.text.analyzer import hash_terms

_SAID_ON = date(2026, 11, 27)


@dataclass(frozen=True, slots=True)
class SortedFacts:
    """How facts of one half were sorted by one wording: counts of facts in buckets."""

    half: str
    wording: str
    right: int
    among_own: int
    """Placed in any bucket, of the facts that belong into one."""
    among_all: int


async def sorted_facts(embedder: Embedder, collection: str) -> AsyncIterator[SortedFacts]:
    """Sort the facts of a collection: `facts` are memories, `spoken` messages of which memories are formed first."""
    data = json.loads((Path(buckets.__file__).parent / f"{collection}.json").read_text("utf-8"))
    topics = await topic_vectors(embedder)
    for half in ("open", "locked"):
        texts = [text for text, _ in data[half]] + data[f"{half}_none" if collection == "facts" else "none"]
        memories = await formed_memories(texts, _SAID_ON) if collection == "spoken" else [[text] for text in texts]
        flat = [text for found in memories for text in found]
        vectors, terms = await embedder.embed_documents(flat), [hash_terms(text) for text in flat]
        for wording, definitions in data["wordings"].items():
            classifier = await build_classifier(embedder, definitions, topics)
            placed = _of_texts(classifier.classify_facts(vectors, terms), [len(found) for found in memories])
            expected = np.array([[name == bucket for name in classifier.names] for _, bucket in data[half]])
            own = placed[: len(expected)]
            yield SortedFacts(half, wording, *map(int, map(np.count_nonzero, (own & expected, own, placed))))


def _of_texts(membership: NDArray[np.bool_], counts: Sequence[int]) -> NDArray[np.bool_]:
    """Unite the buckets of the memories of each text."""
    parts = np.split(membership, np.cumsum(counts)[:-1])
    return np.array([part.any(axis=0) for part in parts])


async def main() -> None:
    """Print a table with one line per collection, half and wording."""
    embedder = open_embedder("e5-encoder")
    print("| facts | half | wording | right of 50 | precision among them | with those of no bucket |")
    print("|---|---|---|---:|---:|---:|")
    for collection in ("facts", "spoken"):
        async for found in sorted_facts(embedder, collection):
            precision = [f"{found.right / placed:.2f}" for placed in (found.among_own, found.among_all)]
            print(f"| {collection} | {found.half} | {found.wording} | {found.right} | {' | '.join(precision)} |")


if __name__ == "__main__":
    asyncio.run(main())
