"""`python -m bench.answers`: what of the evidence stands in the first tokens of an answer, asked over HTTP.

LoCoMo is not shipped; `--data` names its folder. A server of its own remembers each conversation in a
namespace: its sessions as documents with their dates. Then every question is asked, and the turns that prove
its answer are looked for, word for word, in what comes first. Beside it, of the same passages: BM25, vectors,
and LanceDB's hybrid query.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any
from urllib.parse import quote

from bench.http_connection import HttpConnection
from bench.memory.conversations import AnnotatedQuestion, Conversation, conversations
from bench.recall import DATA
from bench.retrieval_baselines import Bm25Ranking, HybridRanking, VectorRanking
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server
from pipeline.models import open_embedder
from pipeline.parsing.text_splitter import StructuredSplitter

TOKEN = 4
"""Characters."""
BUDGETS = (720, 2000)
LIMIT = 100
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
MODES: dict[str, dict[str, Any]] = {
    "hybrid": {},
    "hybrid, a turn each": {},
    "hybrid, default threshold": {"threshold": 0.3},
    "passages": {"searchMode": "chunks"},
    "passages, reranked": {"searchMode": "chunks", "rerank": "order"},
    "passages, rewritten": {"searchMode": "chunks", "rewriteQuery": True},
    "hybrid, ten results": {"limit": 10},
    "hybrid, ten results, reranked": {"limit": 10, "rerank": "order"},
    "hybrid, ten results, aggregated": {"limit": 10, "rerank": "aggregate"},
}


@dataclass
class EvidenceShares:
    """Evidence shares per question by budget and category, and the milliseconds of each search."""

    shares: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)

    def add(self, asked: AnnotatedQuestion, conversation: Conversation, texts: Sequence[str]) -> None:
        """Count one answer."""
        evidence = [
            session.text_of_turn(turn)
            for session in conversation.sessions
            for turn in asked.turns & session.turns.keys()
        ]
        for budget in BUDGETS:
            context = "\n".join(texts)[: budget * TOKEN]
            share = mean(turn in context for turn in evidence)
            self.shares.setdefault((budget, asked.category), []).append(share)

    def mean_by_budget(self) -> list[float]:
        """Return the mean share of all questions by budget."""
        return [
            mean(share for (asked, _), group in self.shares.items() if asked == budget for share in group)
            for budget in BUDGETS
        ]

    def row(self, name: str) -> str:
        """A line of the table."""
        cells = []
        for budget, every in zip(BUDGETS, self.mean_by_budget(), strict=True):
            groups = {kind: self.shares.get((budget, kind), [0.0]) for kind in CATEGORIES}
            cells += [f"**{100 * every:.1f}**", *(f"{100 * mean(group):.0f}" for group in groups.values())]
        speed = [f"{median(self.times):.1f}" if self.times else "-"]
        return "| " + " | ".join([name, *cells, *speed]) + " |"


def main() -> None:
    """Print the table as Markdown."""
    # LanceDB warns at every query that its score columns will change.
    os.environ.setdefault("RUST_LOG", "error")
    options = argparse.ArgumentParser(prog="python -m bench.answers", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    path = options.parse_args().data / "locomo-dev.json"
    if not path.is_file():
        print(f"No {path.name} in {path.parent}: there is nothing to measure.")
        return
    kinds = " | ".join(CATEGORIES.values())
    print("| | " + " | ".join(f"within {budget:,} tokens | {kinds}" for budget in BUDGETS) + " | p50, ms |")
    print("|---|" + "---:|" * (len(BUDGETS) * (len(CATEGORIES) + 1) + 1))
    with (
        tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder,
        Server(Path(folder) / "data") as server,
    ):
        asyncio.run(_measure(server, conversations(path)))


async def _measure(server: Server, found: Sequence[Conversation]) -> None:
    connection = HttpConnection(server.url, server.key)
    for conversation in found:
        await _ingest(connection, conversation, conversation.name, by_turn=False)
        await _ingest(connection, conversation, f"{conversation.name}:turns", by_turn=True)
    await wait_for_zero_lag(connection)
    for mode, body in MODES.items():
        results, suffix = EvidenceShares(), ":turns" if "turn" in mode else ""
        for conversation in found:
            for asked in _questions(conversation):
                began = time.perf_counter()
                texts = await _answer(connection, conversation.name + suffix, asked.text, body)
                results.times.append(1000 * (time.perf_counter() - began))
                results.add(asked, conversation, texts)
        print(results.row(mode), flush=True)
    await connection.close()
    await _compare(found)


async def _ingest(connection: HttpConnection, conversation: Conversation, namespace: str, *, by_turn: bool) -> None:
    documents = [
        {"id": f"{number}-{at}", "content": text, "date": session.date}
        for number, session in enumerate(conversation.sessions)
        for at, text in enumerate(map(session.text_of_turn, session.turns) if by_turn else [session.text])
    ]
    for start in range(0, len(documents), 100):
        body = {"documents": documents[start : start + 100], "dreaming": "instant"}
        await connection.post(f"/ns/{quote(namespace)}/document/batch", body)


async def _answer(connection: HttpConnection, namespace: str, query: str, body: dict[str, Any]) -> list[str]:
    asked = {"query": query, "limit": LIMIT, "threshold": 0.0, **body}
    answer = await connection.post(f"/ns/{quote(namespace)}/search", asked)
    return [result.get("memory") or result["chunk"] for result in answer["results"]]


async def _compare(found: Sequence[Conversation]) -> None:
    embedder = open_embedder("wordllama")
    rivals = {name: EvidenceShares() for name in ("BM25", "vectors", "LanceDB hybrid, RRF")}
    for conversation in found:
        texts = [
            span.text for session in conversation.sessions for span in StructuredSplitter().split(session.text, "text")
        ]
        words, vectors = Bm25Ranking(texts), await VectorRanking.embed_texts(texts, embedder)
        with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
            hybrid = await HybridRanking.store_texts(texts, embedder, Path(folder))
            for asked in _questions(conversation):
                orders = (
                    words.order(asked.text),
                    await vectors.order(asked.text),
                    await hybrid.order(asked.text, LIMIT),
                )
                for rival, order in zip(rivals.values(), orders, strict=True):
                    rival.add(asked, conversation, [texts[at] for at in order])
    for name, rival in rivals.items():
        print(rival.row(f"{name}, on the same passages"))


def _questions(conversation: Conversation) -> list[AnnotatedQuestion]:
    return [*conversation.questions, *conversation.adversarial]


if __name__ == "__main__":
    main()
