"""`python -m bench.topic_vectors`: write the vectors of the topics of buckets anew, for both default models."""

import asyncio

from pipeline.models import open_embedder
from pipeline.profile.topic_vectors import embed_topics, topics_file


def main() -> None:
    """Write the files."""
    asyncio.run(_write())


async def _write() -> None:
    for name in ("e5-encoder", "e5"):
        embedder = open_embedder(name)
        path = topics_file(embedder.name)
        (await embed_topics(embedder)).save(path)
        print(path)


if __name__ == "__main__":
    main()
