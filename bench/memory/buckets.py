"""Facts sorted into five buckets that are described in five wordings: `python -m bench.memory.buckets`.

Both halves of `bench/datasets/buckets`, beside facts that belong into none of the buckets.
"""

import asyncio
import json
from pathlib import Path

import numpy as np

from bench.datasets import buckets
from pipeline.models import open_embedder
from pipeline.profile.bucket_classifier import build_classifier
from pipeline.profile.topic_vectors import topic_vectors
from pipeline.text.analyzer import hash_terms


async def main() -> None:
    """Print a table with one line per half and wording."""
    data = json.loads((Path(buckets.__file__).parent / "facts.json").read_text("utf-8"))
    embedder = open_embedder("e5-encoder")
    topics = await topic_vectors(embedder)
    print("| half | wording | right of 50 | precision among them | with 15 facts of no bucket |")
    print("|---|---|---:|---:|---:|")
    for half in ("open", "locked"):
        texts = [text for text, _ in data[half]] + data[f"{half}_none"]
        vectors, terms = await embedder.embed_documents(texts), [hash_terms(text) for text in texts]
        for wording, definitions in data["wordings"].items():
            classifier = await build_classifier(embedder, definitions, topics)
            membership = classifier.classify_facts(vectors, terms)
            expected = np.array([[name == bucket for name in classifier.names] for _, bucket in data[half]])
            right = np.count_nonzero(membership[: len(expected)] & expected)
            own, total = np.count_nonzero(membership[: len(expected)]), np.count_nonzero(membership)
            print(f"| {half} | {wording} | {right} | {right / own:.2f} | {right / total:.2f} |")


if __name__ == "__main__":
    asyncio.run(main())
