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
from bench.memory.finding import BUDGETS, Recall, corpus, recalls, shown
from bench.memory.minilm import MiniLM, is_there
from bench.memory.model import Told, extracted_by
from bench.recall import DATA
from pipeline.index.hits import BOTH, Kind
from pipeline.inference import open_embedder
from pipeline.memory.drafts import drafts
from pipeline.memory.sentences import sentences
from pipeline.memory.speakers import utterances
from pipeline.ports import Embedder

SAME = 0.6
"""Cosine from which two texts are taken to say the same."""
SECONDS = 3.0
Talk = tuple[Conversation, Sequence[Extracted]]
"""A conversation and what is remembered of it."""
_MODES: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("chunks alone", ("chunk",)),
    ("memories alone", ("memory",)),
    ("hybrid", BOTH),
)


def main() -> None:
    """Print the tables as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    options.add_argument(
        "--llm", metavar="URL", help="an OpenAI-compatible server that finds the facts instead"
    )
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
    told = Told()
    memories = (
        [extracted(one) for one in found] if llm is None else await extracted_by(llm, model, found, told)
    )
    talks = list(zip(found, memories, strict=True))
    if is_there():
        _print_coverage(talks, MiniLM().vectors)
    else:
        print("MiniLM is missing (uv sync --frozen --group bench): coverage is left out.\n")
    await _print_recall(talks, open_embedder("wordllama"))
    if llm is None:
        _print_speed(found)
    else:
        print(f"\n{told.line()}")


def _print_coverage(talks: Sequence[Talk], vectors: Vectors) -> None:
    print(
        "| conversation | turns | memories | per turn | observations covered | from their turns "
        "| memories supported | from their turns |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    total = Coverage()
    for one, memories in talks:
        counted = coverage(one, memories, vectors, SAME)
        total.add(counted)
        print(_line(one.name, counted))
    print(_line("**all**", total))


def _line(name: str, one: Coverage) -> str:
    covered = [one.covered / one.observations, one.covered_own / one.observations]
    shares = [*covered, one.supported / one.memories, one.supported_own / one.memories]
    cells = [f"{one.turns:,}", f"{one.memories:,}", f"{one.memories / one.turns:.2f}"]
    return "| " + " | ".join([name, *cells, *(f"{100 * share:.1f} %" for share in shares)]) + " |"


async def _print_recall(talks: Sequence[Talk], embedder: Embedder) -> None:
    budgets = " | ".join(f"within {size // 4:,} tokens" for size in BUDGETS)
    print(f"\n| documents | searched | in ten results | {budgets} |")
    print("|---|---|---:|" + "---:|" * len(BUDGETS))
    for name, by_turn in (("a session each", False), ("a turn each", True)):
        for mode, kinds in _MODES:
            results: list[Recall] = []
            for one, memories in talks:
                # A search for chunks alone would still look at what was remembered of them.
                kept = [] if kinds == ("chunk",) else memories
                filled = await corpus(one, kept, embedder, by_turn=by_turn)
                results += await recalls(one, filled, embedder, kinds)
            print(f"| {name} | {mode} | " + " | ".join(shown(results)) + " |")


def _print_speed(found: Sequence[Conversation]) -> None:
    texts = [session.text for one in found for session in one.sessions]
    count = sum(
        1 for text in texts for said in utterances(text) for _ in sentences(said.text, lines=said.chat)
    )
    rounds, begun = 0, process_time()
    while process_time() - begun < SECONDS:
        for text in texts:
            drafts(text)
        rounds += 1
    print(f"\n{rounds * count / (process_time() - begun):,.0f} sentences per second of processor time.")


if __name__ == "__main__":
    main()
