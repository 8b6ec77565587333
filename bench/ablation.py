"""`python -m bench.ablation`: what each part of the ranking brings, one removed in turn.

LoCoMo, not shipped; `--data` names its folder. As `bench.answers` asks, hybrid and a hundred results, but
without HTTP: each session a document of its day, with the memories that the rules find in it. Chroma's texts
as `bench.chunking` asks. A part is removed by its number in the ranking.
"""

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from bench.answers import LIMIT, EvidenceShares
from bench.chunking import CURRENT_VARIANT, corpora, evaluate_variant, means
from bench.chunking import Corpus as Texts
from bench.memory.conversations import Conversation, conversations
from bench.memory.coverage import extracted
from bench.memory.memory_recall import build_index
from bench.recall import DATA
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.ranking_parameters import SECOND_STAGE_CANDIDATES, WORDLLAMA_CALIBRATION
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.models import open_embedder
from pipeline.ports import Embedder

_SEARCH = SearchRequest(limit=LIMIT, threshold=0.0)


@dataclass(frozen=True)
class AblatedPart:
    """A part: the names in modules that stand for it, and what makes it nothing."""

    name: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


_INDEX, _TALK = "pipeline.index", "pipeline.parsing.text_splitter.StructuredSplitter.__init__.__kwdefaults__"
_AROUND, _SCALE = (
    "pipeline.text.context_terms.context_expanded_terms.__defaults__",
    f"{_INDEX}.query_analysis.calibration_for",
)
PARTS = (
    AblatedPart("everything"),
    AblatedPart("without what stands around a passage", {_AROUND: (0,)}),
    AblatedPart("transcripts in passages of 800 characters", {_TALK: {"talk": 800}}),
    AblatedPart("without vectors", {_SCALE: lambda _: replace(WORDLLAMA_CALIBRATION, vector_weight=0.0)}),
    AblatedPart(
        "without what speakers named in the question said",
        {f"{_INDEX}.ranking.query_intent.SPEAKER_BOOST": 0.0},
    ),
    AblatedPart(
        "without times and numbers",
        {
            f"{_INDEX}.ranking.query_intent.TIME_BOOST": 0.0,
            f"{_INDEX}.ranking.query_intent.NUMBER_BOOST": 0.0,
        },
    ),
    AblatedPart("without the days of documents", {f"{_INDEX}.ranking.query_intent.DATE_BOOST": 0.0}),
    AblatedPart(
        "without the score of the document",
        {_SCALE: lambda _: replace(WORDLLAMA_CALIBRATION, document_weight=0.0)},
    ),
    AblatedPart(
        "without regard to questions for several things",
        {f"{_INDEX}.query_analysis.MULTI_ANSWER_DOCUMENT_FACTOR": 1.0},
    ),
    AblatedPart(
        "without what memories say of passages",
        {f"{_INDEX}.ranking.second_stage_ranking.MEMORY_SUPPORT_FACTOR": 0.0},
    ),
    AblatedPart(
        "a second look at 128 passages",
        {
            f"{_INDEX}.ranking.candidate_generation.SECOND_STAGE_CANDIDATES": {
                **SECOND_STAGE_CANDIDATES,
                "chunk": 128,
            }
        },
    ),
)


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.ablation", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    data = options.parse_args().data
    if not (data / "locomo-dev.json").is_file():
        print(f"No locomo-dev.json in {data}: there is nothing to measure.")
        return
    talks = conversations(data / "locomo-dev.json")
    texts = [corpus for group in corpora(data) for corpus in group if not corpus.whole]
    print("| | 720 tokens | 2,000 tokens | texts, 720 tokens | texts, 2,000 tokens |")
    print("|---|---:|---:|---:|---:|", flush=True)
    for part in PARTS:
        with patched_parameters(part.numbers):
            print(f"| {part.name} | {asyncio.run(_measured(talks, texts))} |", flush=True)


@contextmanager
def patched_parameters(numbers: Mapping[str, Any]) -> Iterator[None]:
    """Replace these names in modules within the block."""
    homes = [(resolve_name(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in numbers]
    before = [getattr(home, name) for home, name in homes]
    try:
        for (home, name), number in zip(homes, numbers.values(), strict=True):
            setattr(home, name, number)
        yield
    finally:
        for (home, name), number in zip(homes, before, strict=True):
            setattr(home, name, number)


async def _measured(talks: Sequence[Conversation], texts: Sequence[Texts]) -> str:
    embedder, found = open_embedder("wordllama"), EvidenceShares()
    for talk in talks:
        await _search_all(talk, found, embedder)
    shares = [share for corpus in texts for share in await evaluate_variant(corpus, CURRENT_VARIANT, embedder)]
    return " | ".join([*(f"{100 * share:.1f}" for share in found.mean_by_budget()), *means(shares)])


async def _search_all(conversation: Conversation, found: EvidenceShares, embedder: Embedder) -> None:
    index = (await build_index(conversation, extracted(conversation), embedder, by_turn=False, dated=True)).index
    for asked in (*conversation.questions, *conversation.adversarial):
        hits = await index.search(await analyze_query(index, embedder, asked.text), _SEARCH)
        found.add(asked, conversation, [hit.text for hit in hits])


if __name__ == "__main__":
    main()
