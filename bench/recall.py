"""`python -m bench.recall`: how well searches find, on LoCoMo and Cranfield, and what each threshold keeps.

The collections are not shipped; `--data` names their folder, and what is not there is skipped.
"""

import argparse
import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean

from api.search.offline_reranker import rerank_features
from bench.doubles.sample_rows import chunk_row, document_row
from bench.relevance import Collection, Query, collections
from pipeline.columns import chunk_columns
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.index.segments.document_store import document_columns
from pipeline.models import open_embedder
from pipeline.ports import Embedder, WordVectors
from pipeline.rows import Terms
from pipeline.text.analyzer import hash_terms
from pipeline.text.context_terms import context_expanded_terms

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
THRESHOLDS = tuple(step / 10 for step in range(1, 10))
RERANKED = 50
DEEP = 100


@dataclass(frozen=True)
class QueryResult:
    """Results of one query: places with their similarity, best first."""

    query: Query
    hits: list[tuple[int, float]]


@dataclass(frozen=True)
class _ThresholdCurve:
    """Results, and the best similarities of foreign and neighboring queries."""

    name: str
    found: list[QueryResult]
    foreign: list[float]
    near: list[float]


def main() -> None:
    """Print the tables as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    options.add_argument("--embedder", choices=["e5-encoder", "e5", "wordllama", "none"], default="e5-encoder")
    chosen = options.parse_args()
    groups = collections(chosen.data)
    if groups:
        asyncio.run(_measure(groups, open_embedder(chosen.embedder)))


async def _measure(groups: Sequence[Sequence[Collection]], embedder: Embedder) -> None:
    print("| collection | texts | queries | order | recall@10 | MRR | nDCG@10 |")
    print("|---|---|---|---|---|---|---|")
    curves: list[_ThresholdCurve] = []
    for group in groups:
        indexes = [(corpus, await build_text_index(corpus.texts, embedder)) for corpus in group]
        for again in (False, True):
            found = [
                QueryResult(query, await _hits(query.text, index, embedder, again=again))
                for corpus, index in indexes
                for query in corpus.queries
            ]
            size, order = sum(len(corpus.texts) for corpus in group), "reranked" if again else "first"
            print(f"| {group[0].name} | {size} | {len(found)} | {order} | {_quality(found)} |")
            if not again:
                foreign = [await _top(query, index, embedder) for corpus, index in indexes for query in corpus.foreign]
                near = [await _top(query, index, embedder) for corpus, index in indexes for query in corpus.neighbours]
                curves.append(_ThresholdCurve(group[0].name, found, foreign, near))
    for curve in curves:
        _print_curve(curve)


def _print_curve(curve: _ThresholdCurve) -> None:
    print(f"\n{curve.name}: what a threshold keeps of the first {DEEP} results\n")
    print(
        "| threshold | evidence | queries with evidence | precision in ten | results, of ten "
        "| foreign queries silent | neighbouring queries silent |"
    )
    print("|---|---|---|---|---|---|---|")
    for threshold in THRESHOLDS:
        silent = f"{_share_below_threshold(curve.foreign, threshold)} | {_share_below_threshold(curve.near, threshold)}"
        print(f"| {threshold:.1f} | {_kept_shares(curve.found, threshold)} | {silent} |")


async def build_text_index(
    texts: Sequence[str],
    embedder: Embedder,
    documents_by_text: Sequence[tuple[str, str | None]] | None = None,
) -> NamespaceIndex:
    """A namespace of these texts; `documents_by_text`: document and date of each, else each is one by itself."""
    documents_by_text = (
        [(str(at), None) for at in range(len(texts))] if documents_by_text is None else documents_by_text
    )
    dated = dict(documents_by_text)
    documents = [document_row(key, date=day) for key, day in dated.items()]
    vectors = await embedder.embed_documents(texts)
    together: dict[str, list[int]] = {key: [] for key in dated}
    for at, (key, _) in enumerate(documents_by_text):
        together[key].append(at)
    terms: dict[int, Terms] = {}
    for places in together.values():
        own = [texts[at] for at in places]
        terms |= zip(places, context_expanded_terms(own, [hash_terms(text) for text in own]), strict=True)
    chunks = [
        chunk_row(key, at, texts[at], id=str(at), vector=vectors[at], terms=terms[at])
        for at, (key, _) in enumerate(documents_by_text)
    ]
    index = NamespaceIndex(document_columns(documents))
    index.chunks.add(chunk_columns(chunks))
    return index


async def _hits(
    text: str, index: NamespaceIndex, embedder: Embedder, *, again: bool = False
) -> list[tuple[int, float]]:
    question = await analyze_query(index, embedder, text)
    vectors = embedder if isinstance(embedder, WordVectors) else None
    rescore = partial(rerank_features, question, text, vectors) if again else None
    hits = await index.search(
        question, SearchRequest(limit=RERANKED if again else DEEP, threshold=0.0, rescore=rescore)
    )
    return [(int(hit.id), hit.similarity) for hit in hits]


async def _top(query: str, index: NamespaceIndex, embedder: Embedder) -> float:
    """The highest similarity that a query reaches."""
    hits = await _hits(query, index, embedder)
    return hits[0][1] if hits else 0.0


def _quality(found: Sequence[QueryResult]) -> str:
    recalls, ranks, gains = [], [], []
    for evaluation in found:
        places = [place for place, _ in evaluation.hits]
        relevant = evaluation.query.relevant
        recalls.append(sum(place in relevant for place in places[:10]) / len(relevant))
        first = next((rank for rank, place in enumerate(places, 1) if place in relevant), None)
        ranks.append(1 / first if first else 0.0)
        gains.append(ndcg(evaluation.query, places))
    return " | ".join(f"{100 * mean(values):.1f}" for values in (recalls, ranks, gains))


def ndcg(query: Query, places: Sequence[int]) -> float:
    """nDCG@10 of texts by their places, best first."""
    ideal = _gain(sorted(query.relevant.values(), reverse=True)[:10])
    return _gain([query.relevant.get(place, 0) for place in places[:10]]) / ideal


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 2) for rank, grade in enumerate(grades))


def _kept_shares(found: Sequence[QueryResult], threshold: float) -> str:
    evidence, partial, precision, sizes = [], [], [], []
    for evaluation in found:
        kept = [place for place, similarity in evaluation.hits if similarity >= threshold]
        right = sum(place in evaluation.query.relevant for place in kept)
        evidence.append(right / len(evaluation.query.relevant))
        partial.append(right > 0)
        sizes.append(min(len(kept), 10))
        if kept:
            precision.append(sum(place in evaluation.query.relevant for place in kept[:10]) / sizes[-1])
    shares = (mean(evidence), mean(partial), mean(precision) if precision else 0.0)
    return " | ".join(f"{100 * share:.0f} %" for share in shares) + f" | {mean(sizes):.1f}"


def _share_below_threshold(tops: Sequence[float], threshold: float) -> str:
    return f"{100 * mean(top < threshold for top in tops):.0f} %" if tops else "-"


if __name__ == "__main__":
    main()
