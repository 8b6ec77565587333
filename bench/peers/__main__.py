"""`python -m bench.peers`: what other systems find in the same passages, each with its default embedder, and how fast.

The local default of Chroma, LanceDB, mem0 and txtai is all-MiniLM-L6-v2, with 256 tokens of a text; Qdrant is given the
same (`--group bench` installs it). Each peer is installed by uv into an environment of its own under a cache folder,
and runs `bench/peers/<name>.py` there; what can't be installed or run is said. LoCoMo: the passages recollect makes of
each conversation, evidence of a question within the first 2,000 tokens (of 4 characters) of a hundred results.
Cranfield: nDCG@10.
All run in process. Times are of the processor, for a query whose vector is there.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from bench.memory.conversations import AnnotatedQuestion, Conversation, conversations
from bench.memory.minilm import MiniLM
from bench.ranking import KeptVectors
from bench.recall import DATA, build_text_index, ndcg
from bench.relevance import Query, collections
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.models import open_embedder
from pipeline.parsing.text_splitter import StructuredSplitter
from pipeline.ports import Embedder

HERE = Path(__file__).parent
CACHE = Path.home() / ".cache" / "recollect" / "peers"
LIMIT, CHARACTERS, SECONDS = 100, 8_000, 1_800
_PEER_TOKENS = 256
"""Tokens of a text that sentence-transformers' all-MiniLM-L6-v2, and Chroma's, read."""
PEERS: dict[str, tuple[str, ...]] = {
    "chroma": ("chromadb",),
    "qdrant": ("qdrant-client",),
    "lancedb": ("lancedb", "pandas"),
    "txtai": ("txtai",),
    "mem0": ("mem0ai",),
}
"""Requirements of each peer; the newest versions are installed, and printed."""


@dataclass(frozen=True)
class PeerCorpus:
    """Texts in which queries are asked, and who proves what. `homes`: their documents, with dates."""

    texts: list[str]
    queries: list[str]
    documents: Sequence[tuple[str, str | None]] | None = None
    conversation: Conversation | None = None
    asked: Sequence[AnnotatedQuestion] = ()
    judged: Sequence[Query] = ()


def main() -> None:
    """Print a table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    options.add_argument("--cache", type=Path, default=CACHE, help="folder of the environments")
    options.add_argument("--uv", default=".uv/bin/uv", help="the uv that installs them")
    options.add_argument("--vectors", type=Path, help="file that keeps recollect's vectors")
    options.add_argument("--only", nargs="*", default=[*PEERS], choices=[*PEERS])
    chosen = options.parse_args()
    corpora = _corpora(chosen.data)
    if not corpora:
        print(f"Nothing to measure in {chosen.data}.")
        return
    kept = chosen.vectors or Path(tempfile.gettempdir()) / "recollect-bench-e5-encoder.npz"
    embedder = KeptVectors(open_embedder("e5-encoder"), kept)
    print("| | version | LoCoMo, evidence within 2,000 tokens | Cranfield, nDCG@10 | p50, ms of CPU |")
    print("|---|---|---:|---:|---:|")
    ours = [asyncio.run(_ours(corpus, embedder)) for corpus in corpora]
    embedder.save()
    print(_row("recollect", "this one", corpora, ours), flush=True)
    minilm = MiniLM(_PEER_TOKENS)
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        given = Path(folder) / "given.json"
        given.write_text(json.dumps([_peer_input(corpus, minilm) for corpus in corpora]))
        for name in chosen.only:
            try:
                answer = _run(name, chosen.cache / name, chosen.uv, given)
            except subprocess.SubprocessError as error:
                print(f"| {name} | could not be measured: {_reason(error)} | | | |", flush=True)
            else:
                print(_row(name, answer["version"], corpora, answer["corpora"]), flush=True)


def _corpora(data: Path) -> list[PeerCorpus]:
    found = []
    if (data / "locomo-dev.json").is_file():
        for conversation in conversations(data / "locomo-dev.json"):
            cut = [
                (span.text, (str(number), session.date))
                for number, session in enumerate(conversation.sessions)
                for span in StructuredSplitter().split(session.text, "text")
            ]
            texts, homes = [text for text, _ in cut], [home for _, home in cut]
            asked = [*conversation.questions, *conversation.adversarial]
            found.append(PeerCorpus(texts, [each.text for each in asked], homes, conversation, asked))
    for group in collections(data):
        if group[0].name == "Cranfield":
            queries = [query.text for query in group[0].queries]
            found.append(PeerCorpus(group[0].texts, queries, judged=group[0].queries))
    return found


async def _ours(corpus: PeerCorpus, embedder: Embedder) -> dict[str, Any]:
    """Rank as the service does: passages of one conversation belong to its sessions."""
    index = await build_text_index(corpus.texts, embedder, corpus.documents)
    orders, taken = [], []
    for query in corpus.queries:
        began = time.process_time()
        hits = await index.search(
            await analyze_query(index, embedder, query), SearchRequest(limit=LIMIT, threshold=0.0)
        )
        taken.append(1000 * (time.process_time() - began))
        orders.append([int(hit.id) for hit in hits])
    return {"orders": orders, "milliseconds": taken}


def _peer_input(corpus: PeerCorpus, model: MiniLM) -> dict[str, Any]:
    return {
        "texts": corpus.texts,
        "vectors": model.vectors(corpus.texts).tolist(),
        "queries": corpus.queries,
        "query_vectors": model.vectors(corpus.queries).tolist(),
        "limit": LIMIT,
    }


def _run(name: str, home: Path, uv: str, given: Path) -> dict[str, Any]:
    """Install where it is not yet, and let it answer."""
    answer = given.with_name(f"{name}.json")
    run_command([installed(name, home, uv), str(HERE / f"{name}.py"), str(given), str(answer)])
    found: dict[str, Any] = json.loads(answer.read_text())
    return found


def installed(name: str, home: Path, uv: str) -> str:
    """The Python of a peer's environment, which is made where it is not there yet."""
    python = home / "bin" / "python"
    if not (home / ".installed").exists():
        run_command([uv, "venv", "--quiet", "--clear", str(home), "--python", sys.executable])
        run_command([uv, "pip", "install", "--quiet", "--python", str(python), *PEERS[name]])
        (home / ".installed").touch()
    return str(python)


def run_command(command: list[str]) -> None:
    """Run a command to its end; subprocess.SubprocessError where it fails or takes too long."""
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)  # noqa: S603 - our own


def _reason(error: subprocess.SubprocessError) -> str:
    lines = str(getattr(error, "stderr", "") or error).strip().splitlines()
    # What objects say while the interpreter goes is not why it went.
    errors = [line for line in lines if "shutting down" not in line and not line.startswith(" ")]
    return errors[-1][:120].replace("|", "/") if errors else type(error).__name__


def _row(name: str, version: str, corpora: Sequence[PeerCorpus], answers: Sequence[dict[str, Any]]) -> str:
    evidence, gains = [], []
    for corpus, answer in zip(corpora, answers, strict=True):
        if corpus.conversation is not None:
            evidence += [
                _positions_within_budget(corpus, corpus.conversation, asked, order)
                for asked, order in zip(corpus.asked, answer["orders"], strict=True)
            ]
        else:
            gains += [ndcg(query, order) for query, order in zip(corpus.judged, answer["orders"], strict=True)]
    shown = [f"{100 * mean(values):.1f}" if values else "" for values in (evidence, gains)]
    taken = median(value for answer in answers for value in answer["milliseconds"])
    return f"| {name} | {version} | {shown[0]} | {shown[1]} | {taken:.2f} |"


def _positions_within_budget(
    corpus: PeerCorpus, conversation: Conversation, asked: AnnotatedQuestion, order: Sequence[int]
) -> float:
    context = "\n".join(corpus.texts[at] for at in order)[:CHARACTERS]
    turns = [
        said_in.text_of_turn(turn) for said_in in conversation.sessions for turn in asked.turns & said_in.turns.keys()
    ]
    return mean(turn in context for turn in turns)


if __name__ == "__main__":
    main()
