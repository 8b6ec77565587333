"""`python -m bench.recall`: how well searches find, on LoCoMo and Cranfield, and what each threshold keeps.

The collections are not shipped; `--data` names their folder, and what is not there is skipped.
"""

import argparse
import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean

from api.queries.rerank import reordered
from bench.relevance import Collection, Query, collections
from pipeline.columns import chunk_columns, document_columns
from pipeline.index.asking import ask
from pipeline.index.hits import Wanted
from pipeline.index.namespace import NamespaceIndex
from pipeline.inference import open_embedder
from pipeline.ports import Embedder, WordVectors
from pipeline.rows import ChunkRow, DocumentRow, Terms
from pipeline.text.surroundings import counted
from pipeline.text.terms import hashed

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
THRESHOLDS = tuple(step / 10 for step in range(1, 10))
RERANKED = 50
DEEP = 100
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Found:
    """What one query found: places with their similarity, best first."""

    query: Query
    hits: list[tuple[int, float]]


@dataclass(frozen=True)
class _Curve:
    """What was found, and the best similarities that foreign and neighbouring queries reach."""

    name: str
    found: list[Found]
    foreign: list[float]
    near: list[float]


def main() -> None:
    """Print the tables as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    options.add_argument("--embedder", choices=["wordllama", "none"], default="wordllama")
    chosen = options.parse_args()
    groups = collections(chosen.data)
    if groups:
        asyncio.run(_measure(groups, open_embedder(chosen.embedder)))


async def _measure(groups: Sequence[Sequence[Collection]], embedder: Embedder) -> None:
    print("| collection | texts | queries | order | recall@10 | MRR | nDCG@10 |")
    print("|---|---|---|---|---|---|---|")
    curves: list[_Curve] = []
    for group in groups:
        indexes = [(one, await filled(one.texts, embedder)) for one in group]
        for again in (False, True):
            found = [
                Found(query, await _hits(query.text, index, embedder, again=again))
                for one, index in indexes
                for query in one.queries
            ]
            size, order = sum(len(one.texts) for one in group), "reranked" if again else "first"
            print(f"| {group[0].name} | {size} | {len(found)} | {order} | {_quality(found)} |")
            if not again:
                foreign = [
                    await _top(query, index, embedder) for one, index in indexes for query in one.foreign
                ]
                near = [
                    await _top(query, index, embedder) for one, index in indexes for query in one.neighbours
                ]
                curves.append(_Curve(group[0].name, found, foreign, near))
    for curve in curves:
        _print_curve(curve)


def _print_curve(curve: _Curve) -> None:
    print(f"\n{curve.name}: what a threshold keeps of the first {DEEP} results\n")
    print(
        "| threshold | evidence | queries with evidence | precision in ten | results, of ten "
        "| foreign queries silent | neighbouring queries silent |"
    )
    print("|---|---|---|---|---|---|---|")
    for threshold in THRESHOLDS:
        silent = f"{_silent(curve.foreign, threshold)} | {_silent(curve.near, threshold)}"
        print(f"| {threshold:.1f} | {_kept(curve.found, threshold)} | {silent} |")


async def filled(
    texts: Sequence[str], embedder: Embedder, homes: Sequence[tuple[str, str | None]] | None = None
) -> NamespaceIndex:
    """A namespace of these texts; `homes`: the document of each and its date, else each is one by itself."""
    homes = [(str(at), None) for at in range(len(texts))] if homes is None else homes
    dated = dict(homes)
    documents = [
        DocumentRow(
            key=key, space="s#0", id=key, seq=0, content_seq=0, created_at=_NOW, updated_at=_NOW, date=day
        )
        for key, day in dated.items()
    ]
    vectors = await embedder.documents(texts)
    together: dict[str, list[int]] = {key: [] for key in dated}
    for at, (key, _) in enumerate(homes):
        together[key].append(at)
    terms: dict[int, Terms] = {}
    for places in together.values():
        own = [texts[at] for at in places]
        terms |= zip(places, counted(own, [hashed(text) for text in own]), strict=True)
    chunks = [
        ChunkRow(
            id=str(at),
            space="s#0",
            document=key,
            position=at,
            text=texts[at],
            start=0,
            end=len(texts[at]),
            seq=0,
            created_at=_NOW,
            vector=vectors[at],
            terms=terms[at],
        )
        for at, (key, _) in enumerate(homes)
    ]
    index = NamespaceIndex(document_columns(documents))
    index.chunks.add(chunk_columns(chunks))
    return index


async def _hits(
    text: str, index: NamespaceIndex, embedder: Embedder, *, again: bool = False
) -> list[tuple[int, float]]:
    question = await ask(index, embedder, text)
    hits = await index.search(question, Wanted(limit=RERANKED if again else DEEP, threshold=0.0))
    if again:
        hits = reordered(question, text, hits, embedder if isinstance(embedder, WordVectors) else None)
    return [(int(hit.id), hit.similarity) for hit in hits]


async def _top(query: str, index: NamespaceIndex, embedder: Embedder) -> float:
    """The highest similarity that a query reaches."""
    hits = await _hits(query, index, embedder)
    return hits[0][1] if hits else 0.0


def _quality(found: Sequence[Found]) -> str:
    recalls, ranks, gains = [], [], []
    for one in found:
        places = [place for place, _ in one.hits]
        relevant = one.query.relevant
        recalls.append(sum(place in relevant for place in places[:10]) / len(relevant))
        first = next((rank for rank, place in enumerate(places, 1) if place in relevant), None)
        ranks.append(1 / first if first else 0.0)
        gains.append(ndcg(one.query, places))
    return " | ".join(f"{100 * mean(values):.1f}" for values in (recalls, ranks, gains))


def ndcg(query: Query, places: Sequence[int]) -> float:
    """nDCG@10 of texts by their places, best first."""
    ideal = _gain(sorted(query.relevant.values(), reverse=True)[:10])
    return _gain([query.relevant.get(place, 0) for place in places[:10]]) / ideal


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 2) for rank, grade in enumerate(grades))


def _kept(found: Sequence[Found], threshold: float) -> str:
    evidence, some, precision, sizes = [], [], [], []
    for one in found:
        kept = [place for place, similarity in one.hits if similarity >= threshold]
        right = sum(place in one.query.relevant for place in kept)
        evidence.append(right / len(one.query.relevant))
        some.append(right > 0)
        sizes.append(min(len(kept), 10))
        if kept:
            precision.append(sum(place in one.query.relevant for place in kept[:10]) / sizes[-1])
    shares = (mean(evidence), mean(some), mean(precision) if precision else 0.0)
    return " | ".join(f"{100 * share:.0f} %" for share in shares) + f" | {mean(sizes):.1f}"


def _silent(tops: Sequence[float], threshold: float) -> str:
    return f"{100 * mean(top < threshold for top in tops):.0f} %" if tops else "-"


if __name__ == "__main__":
    main()
