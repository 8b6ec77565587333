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

from bench.memory.conversations import Asked, Conversation, conversations
from bench.plain import Bm25, Hybrid, Vectors
from bench.recall import DATA
from bench.server import Server
from bench.waiting import level
from bench.wire import Connection
from pipeline.extraction.split import StructuredSplitter
from pipeline.inference import open_embedder

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
class Found:
    """By budget and category the share of the evidence of each question; the milliseconds of each search."""

    shares: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)

    def add(self, asked: Asked, one: Conversation, texts: Sequence[str]) -> None:
        """Count one answer."""
        evidence = [
            session.said(turn) for session in one.sessions for turn in asked.turns & session.turns.keys()
        ]
        for budget in BUDGETS:
            said = "\n".join(texts)[: budget * TOKEN]
            share = mean(turn in said for turn in evidence)
            self.shares.setdefault((budget, asked.category), []).append(share)

    def every(self) -> list[float]:
        """By budget, the mean share of all questions."""
        return [
            mean(share for (asked, _), group in self.shares.items() if asked == budget for share in group)
            for budget in BUDGETS
        ]

    def row(self, name: str) -> str:
        """A line of the table."""
        cells = []
        for budget, every in zip(BUDGETS, self.every(), strict=True):
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
    connection = await Connection.open(server.url, server.key)
    for one in found:
        await _remember(connection, one, one.name, by_turn=False)
        await _remember(connection, one, f"{one.name}:turns", by_turn=True)
    await level(connection)
    for mode, body in MODES.items():
        results, suffix = Found(), ":turns" if "turn" in mode else ""
        for one in found:
            for asked in _questions(one):
                began = time.perf_counter()
                texts = await _answer(connection, one.name + suffix, asked.text, body)
                results.times.append(1000 * (time.perf_counter() - began))
                results.add(asked, one, texts)
        print(results.row(mode), flush=True)
    await connection.close()
    await _compare(found)


async def _remember(connection: Connection, one: Conversation, namespace: str, *, by_turn: bool) -> None:
    documents = [
        {"id": f"{number}-{at}", "content": text, "date": session.date}
        for number, session in enumerate(one.sessions)
        for at, text in enumerate(map(session.said, session.turns) if by_turn else [session.text])
    ]
    for start in range(0, len(documents), 100):
        body = {"documents": documents[start : start + 100], "dreaming": "instant"}
        await connection.post(f"/ns/{quote(namespace)}/document/batch", body)


async def _answer(connection: Connection, namespace: str, query: str, body: dict[str, Any]) -> list[str]:
    asked = {"query": query, "limit": LIMIT, "threshold": 0.0, **body}
    answer = await connection.post(f"/ns/{quote(namespace)}/search", asked)
    return [one.get("memory") or one["chunk"] for one in answer["results"]]


async def _compare(found: Sequence[Conversation]) -> None:
    embedder = open_embedder("wordllama")
    rivals = {name: Found() for name in ("BM25", "vectors", "LanceDB hybrid, RRF")}
    for one in found:
        texts = [
            span.text for session in one.sessions for span in StructuredSplitter().split(session.text, "text")
        ]
        words, vectors = Bm25(texts), await Vectors.of(texts, embedder)
        with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
            hybrid = await Hybrid.of(texts, embedder, Path(folder))
            for asked in _questions(one):
                orders = (
                    words.order(asked.text),
                    await vectors.order(asked.text),
                    await hybrid.order(asked.text, LIMIT),
                )
                for rival, order in zip(rivals.values(), orders, strict=True):
                    rival.add(asked, one, [texts[at] for at in order])
    for name, rival in rivals.items():
        print(rival.row(f"{name}, on the same passages"))


def _questions(one: Conversation) -> list[Asked]:
    return [*one.questions, *one.adversarial]


if __name__ == "__main__":
    main()
