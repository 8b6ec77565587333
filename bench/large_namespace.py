"""`python -m bench.large_namespace`: one large namespace: how long the first search takes, how long the
others do.

Documents of ten passages (`--per-document`) of 300 characters (`bench.text_generator`, the same seed, the same
texts), embedded by wordllama, in the service's own tables, searched by its own index without HTTP. Beside it the
same with an exact cosine for every row, and the floor: numpy over the same vectors, nothing else; with `--qdrant`
also Qdrant's local engine over them. Processor time says more than the clock where others work.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from statistics import mean, median

import numpy as np
import psutil

from bench.peers.__main__ import CACHE, HERE, installed, run_command
from bench.text_generator import SUBJECTS, TextGenerator
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.array_operations import cosines, top_k
from pipeline.index.ranking.search_request_and_hits import Hit, SearchRequest
from pipeline.index.snapshots.index_snapshots import SnapshotOptions
from pipeline.models.wordllama_embedder import WordLlamaEmbedder
from pipeline.packed_vectors import unpack
from pipeline.rows import ChunkRow, DocumentRow, NamespaceRow, Vector
from pipeline.settings import Settings
from pipeline.store import Store, open_store
from pipeline.text.analyzer import hash_terms
from pipeline.text.context_terms import context_expanded_terms
from schemas.filters import NumericComparison
from schemas.ids import chunk_id, document_key

SPACE = "large#0"
CHARACTERS = 300
BATCH = 200
SEARCHES = 60
TOP_K = 10
YEARS = 10
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANY = SearchRequest(threshold=0.0)
ROW = NamespaceRow("large", 0, (SPACE,), NOW, NOW)


@dataclass(frozen=True, slots=True)
class LargeNamespaceResult:
    """Figures of one size: seconds, milliseconds and bytes; CPU is that of the whole process.

    `cpu_least` is what one in ten searches keeps within: the others waited for the memory of others' work.
    """

    passages: int
    mapped: bool
    held: int
    cold: float
    cold_cpu: float
    snapshot: int
    reopened: float
    reopened_cpu: float
    """From the snapshot to the end of the first search, in a cache that has never seen the namespace."""
    first_p50: float
    """Of as many other questions that are asked before, when most of the mapped files are read for the first time."""
    p50: float
    p99: float
    cpu: float
    cpu_least: float
    filtered_cpu: float
    exact_cpu: float
    floor_cpu: float
    same: float
    resident: int
    qdrant_cpu: float | None = None


def main() -> None:
    """Measure sizes one after the other; one is filled only once."""
    options = argparse.ArgumentParser(prog="python -m bench.large_namespace", description=__doc__)
    options.add_argument("--passages", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000])
    options.add_argument("--per-document", type=int, default=10, help="passages of a document")
    options.add_argument("--data", type=Path, help="keep the tables here, and use those that are there")
    options.add_argument("--cache", type=int, default=Settings.model_fields["index_cache_bytes"].default)
    options.add_argument("--qdrant", action="store_true", help="measure Qdrant's local engine as well")
    options.add_argument("--peers", type=Path, default=CACHE, help="folder of its environment")
    options.add_argument("--uv", default=".uv/bin/uv", help="the uv that installs it")
    chosen = options.parse_args()
    peer = installed("qdrant", chosen.peers / "qdrant", chosen.uv) if chosen.qdrant else None
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        for passages in chosen.passages:
            data = (chosen.data or Path(folder)) / str(passages)
            size = Size(passages, chosen.per_document)
            print(json.dumps(asdict(asyncio.run(measure_size(data, size, chosen.cache, peer)))), flush=True)


@dataclass(frozen=True, slots=True)
class Size:
    """Passages, and how many of them each document has."""

    passages: int
    per_document: int = 10


async def measure_size(data: Path, size: Size, limit: int, peer: str | None) -> LargeNamespaceResult:
    """Fill the tables where they are not there yet, and search. `peer`: a Python with Qdrant's client."""
    embedder = WordLlamaEmbedder.from_package()
    fresh = not await asyncio.to_thread(data.exists)
    store = await open_store(str(data / "tables"), dimensions=embedder.dimensions, shards=1, embedder=embedder.name)
    if fresh:
        await _fill(store, embedder, size)
    cache = _open_cache(store, data, limit)
    began, cpu = time.perf_counter(), time.process_time()
    index = await cache.open(ROW)
    cold, cold_cpu = time.perf_counter() - began, time.process_time() - cpu
    queries = _queries()
    snapshot, reopened, reopened_cpu = await _reopen(store, data, cache, embedder, queries[-1])
    _, first, _ = await _timed_searches(index, embedder, _queries(seed=6), ANY)
    found, walls, cpus = await _timed_searches(index, embedder, queries, ANY)
    year = replace(ANY, filter=NumericComparison(field="year", operator="gte", value=YEARS - 1))
    await _timed_searches(index, embedder, queries[:1], year)
    _, _, filtered = await _timed_searches(index, embedder, queries, year)
    resident, held = psutil.Process().memory_info().rss, index.nbytes
    _disable_quantizer(index)
    exact, _, exact_cpus = await _timed_searches(index, embedder, queries[: SEARCHES // 3], ANY)
    vectors = [(await analyze_query(index, embedder, query)).vector for query in queries[:10]]
    floor = _brute_force_cpu_ms(index, vectors)
    qdrant = None if peer is None else await asyncio.to_thread(_qdrant, peer, index, vectors)
    await store.close()
    return LargeNamespaceResult(
        passages=size.passages,
        mapped=any(view.segment.is_spilled for view in index.chunks.snapshot()),
        held=held,
        cold=cold,
        cold_cpu=cold_cpu,
        snapshot=snapshot,
        reopened=reopened,
        reopened_cpu=reopened_cpu,
        first_p50=median(first),
        p50=median(walls),
        p99=float(np.percentile(walls, 99)),
        cpu=median(cpus),
        cpu_least=float(np.percentile(cpus, 10)),
        filtered_cpu=median(filtered),
        exact_cpu=median(exact_cpus),
        floor_cpu=floor,
        same=mean(_overlap_at_k(approximate, others) for approximate, others in zip(found, exact, strict=False)),
        resident=resident,
        qdrant_cpu=qdrant,
    )


def _open_cache(store: Store, data: Path, limit: int) -> NamespaceIndexCache:
    most = Settings.model_fields["index_snapshot_bytes"].default
    options = SnapshotOptions("bench", most, inf, store.documents, store.chunks, store.memories)
    return NamespaceIndexCache(
        store.documents, store.chunks, store.memories, store.catalog, limit, folder=data / "index", snapshots=options
    )


async def _reopen(
    store: Store, data: Path, cache: NamespaceIndexCache, embedder: WordLlamaEmbedder, query: str
) -> tuple[int, float, float]:
    """Save the index, and search it in a new cache: bytes of the snapshot, seconds, and seconds of CPU."""
    await _timed_searches(await cache.open(ROW), embedder, [query], ANY)
    if not await cache.save(ROW.name):
        raise SystemExit("The snapshot could not be written.")
    again = _open_cache(store, data, cache.loader.limit_bytes)
    began, cpu = time.perf_counter(), time.process_time()
    await _timed_searches(await again.open(ROW), embedder, [query], ANY)
    taken = time.perf_counter() - began, time.process_time() - cpu
    await again.close()
    return sum(path.stat().st_size for path in (data / "index" / "snapshots").iterdir()), *taken


async def _fill(store: Store, embedder: WordLlamaEmbedder, size: Size) -> None:
    writer = TextGenerator(3)
    documents_count = size.passages // size.per_document
    for start in range(0, documents_count, BATCH):
        numbers = range(start, min(start + BATCH, documents_count))
        documents = {row.key: row for row in map(_document, numbers)}
        chunks = {key: await _chunks(key, writer, embedder, size.per_document) for key in documents}
        await store.documents.update(list(documents), lambda key, _, rows=documents: [rows[key]])  # type: ignore[misc]  # bound now
        await store.chunks.update(list(chunks), lambda key, _, rows=chunks: rows[key])  # type: ignore[misc]  # bound now
        if start % (10 * BATCH) == 0:
            await store.flush()
    await store.flush()
    await store.maintain()


def _document(number: int) -> DocumentRow:
    document = f"d{number}"
    return DocumentRow(
        key=document_key(SPACE, document), incarnation=SPACE, id=document, seq=1, content_seq=1, created_at=NOW,
        updated_at=NOW, status="done", title=f"Document {number}", metadata={"year": number % YEARS},
    )  # fmt: skip


async def _chunks(document: str, writer: TextGenerator, embedder: WordLlamaEmbedder, count: int) -> list[ChunkRow]:
    texts = [writer.paragraph(CHARACTERS) for _ in range(count)]
    terms = context_expanded_terms(texts, [hash_terms(text) for text in texts])
    vectors = await embedder.embed_documents(texts)
    return [
        ChunkRow(
            id=chunk_id(document, at, text), incarnation=SPACE, document=document, position=at, text=text,
            start=at * CHARACTERS, end=at * CHARACTERS + len(text), seq=1, created_at=NOW, vector=vector,
            terms=own,
        )
        for at, (text, vector, own) in enumerate(zip(texts, vectors, terms, strict=True))
    ]  # fmt: skip


def _queries(seed: int = 5) -> list[str]:
    """Words of a subject, with those of a sentence around them: rare ones and common ones."""
    writer = TextGenerator(seed)
    return [f"{writer.question(at % SUBJECTS, 3)} {writer.paragraph(40, at % SUBJECTS)}" for at in range(SEARCHES)]


async def _timed_searches(
    index: NamespaceIndex, embedder: WordLlamaEmbedder, queries: Sequence[str], wanted: SearchRequest
) -> tuple[list[list[Hit]], list[float], list[float]]:
    """Return the results of each search with its wall and CPU milliseconds."""
    found, walls, cpus = [], [], []
    for query in queries:
        began, cpu = time.perf_counter(), time.process_time()
        found.append(await index.search(await analyze_query(index, embedder, query), wanted))
        walls.append(1000 * (time.perf_counter() - began))
        cpus.append(1000 * (time.process_time() - cpu))
    return found, walls, cpus


def _disable_quantizer(index: NamespaceIndex) -> None:
    """Compute exact cosines for every row within the block."""
    view = tuple(replace(view, segment=replace(view.segment, vector_codes=None)) for view in index.chunks.snapshot())
    index.chunks._views = view  # noqa: SLF001 - measured, not served


def _brute_force_cpu_ms(index: NamespaceIndex, vectors: Sequence[Vector]) -> float:
    """Milliseconds of the processor for the cosines of all rows and the ten best."""
    matrices = [view.segment.columns.vectors for view in index.chunks.snapshot()]
    taken = []
    for vector in vectors:
        cpu = time.process_time()
        near = np.concatenate([cosines(matrix, vector) for matrix in matrices])
        top_k(near, np.arange(len(near)), TOP_K)
        taken.append(1000 * (time.process_time() - cpu))
    return median(taken)


def _qdrant(python: str, index: NamespaceIndex, vectors: Sequence[Vector]) -> float:
    """Milliseconds of the processor that Qdrant's local engine takes for the same cosines."""
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        rows, questions, answer = (Path(folder) / name for name in ("rows.npy", "questions.npy", "answer.json"))
        np.save(rows, np.concatenate([unpack(view.segment.columns.vectors) for view in index.chunks.snapshot()]))
        np.save(questions, np.stack(vectors))
        run_command([python, str(HERE / "qdrant_large.py"), str(rows), str(questions), str(answer)])
        taken: list[float] = json.loads(answer.read_text())["milliseconds"]
    return median(taken)


def _overlap_at_k(hits: Sequence[Hit], others: Sequence[Hit]) -> float:
    """Return how many of the ten exact results were found."""
    expected = {hit.id for hit in others[:TOP_K]}
    return len(expected & {hit.id for hit in hits[:TOP_K]}) / max(len(expected), 1)


if __name__ == "__main__":
    main()
