"""`rewriteQuery`: the ways in which a question is asked, so that what answers one of them is found.

Without what people wrap around it; in parts, where it asks for several things; with times seen from the day
it is asked on; with names as they are written in the namespace; and in its words for the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from api.queries.parts import parts
from api.queries.rerank import handed_out
from api.queries.rewrite import rewritten
from api.queries.seeing import seen_from
from api.queries.spelling import spelled
from api.queries.widening import widened
from pipeline.index.asking import QUERY_CHARACTERS, ask
from pipeline.index.finding import ranked
from pipeline.index.hits import Hit, Wanted
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.scoring import Question
from pipeline.memory.dates import dated
from pipeline.ports import Embedder, WordVectors

LONGEST = 1_000
"""Characters of a question; what is longer is a text, and is not asked otherwise."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask: its text, and the question that it is in a namespace."""

    text: str
    question: Question


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Where a query is asked, and for what. `today`: the day from which it says "last week"."""

    index: NamespaceIndex
    embedder: Embedder
    wanted: Wanted
    today: date

    async def by_rules(self, query: str) -> list[Way]:
        """As a whole first, then its parts."""
        query, today = seen_from(query, self.today)
        whole = rewritten(query)
        return [await self.way(text, today) for text in (whole, *parts(whole))]

    async def way(self, text: str, today: date) -> Way:
        """One of them, with dates instead of "last week", in the words of the namespace."""
        text = dated(text[:QUERY_CHARACTERS], today).text
        question = await ask(self.index, self.embedder, text, today)
        right = await spelled(self.index, text, question, self.wanted)
        if right != text:
            text, question = right, await ask(self.index, self.embedder, right, today)
        if isinstance(self.embedder, WordVectors):
            question = await widened(self.index, question, text, self.wanted, self.embedder)
        return Way(text, question)


def merged(asked: Sequence[Way], found: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """What each way finds, as one list: each result once, and the best of every way as good as any.

    What is clearly answered would push away the rest otherwise. The scores are handed out in that order.
    """
    there = [hits for hits in found if hits]
    if len(there) < 2:
        return list(there[0]) if there else []
    first = max(hits[0].raw for hits in there)
    best: dict[str, tuple[float, Hit]] = {}
    for hits in there:
        for hit in hits:
            level = hit.raw + first - hits[0].raw
            if hit.id not in best or best[hit.id][0] < level:
                best[hit.id] = (level, hit)
    kept = sorted(best.values(), key=lambda one: (-one[0], one[1].kind, one[1].id))[:limit]
    hits = ranked([hit for _, hit in kept], limit)
    places = {hit.id: at for at, hit in enumerate(hits)}
    return handed_out(asked[0].question, hits, [places[hit.id] for _, hit in kept], "parts")
