"""A query becomes a question: its terms weighed in the namespace, its vector, its scale."""

import asyncio
from datetime import date

from pipeline.index.cues import Cues
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.parameters import SEVERAL, calibration
from pipeline.index.scoring import Question
from pipeline.ports import Embedder
from pipeline.text.terms import hashed

QUERY_TERMS = 256
QUERY_CHARACTERS = 8_000
"""Of a longer query the beginning counts; it is a document then, not a question."""


async def ask(
    namespace: NamespaceIndex, embedder: Embedder, query: str, today: date | None = None
) -> Question:
    """The question that a query is in a namespace, as its rows are now.

    `today`: from where it says "last week"; None: only times that name their year are known.
    """
    query = query[:QUERY_CHARACTERS]
    words = list(dict.fromkeys(hashed(query).tolist()))[:QUERY_TERMS]
    statistics = await namespace.statistics(words)
    weights = statistics.weights()
    embedding = embedder.query(query, weights.word)
    if namespace.small:
        documents, vector = statistics.documents(), await embedding
    else:
        documents, vector = await asyncio.gather(asyncio.to_thread(statistics.documents), embedding)
    cues = Cues.of(query, today)
    return Question(
        weights=weights,
        vector=vector,
        scale=calibration(embedder.name),
        average=statistics.average,
        documents=SEVERAL * documents if cues.several else documents,
        cues=cues,
    )
