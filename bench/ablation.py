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

from bench.answers import LIMIT, Found
from bench.chunking import AS_IT_IS, asked_of, corpora, means
from bench.chunking import Corpus as Texts
from bench.memory.conversations import Conversation, conversations
from bench.memory.coverage import extracted
from bench.memory.finding import corpus
from bench.recall import DATA
from pipeline.index.asking import ask
from pipeline.index.hits import Wanted
from pipeline.index.parameters import CANDIDATES, WORDLLAMA
from pipeline.inference import open_embedder
from pipeline.ports import Embedder

_SEARCH = Wanted(limit=LIMIT, threshold=0.0)


@dataclass(frozen=True)
class Without:
    """A part: the names in modules that stand for it, and what makes it nothing."""

    name: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


_INDEX, _TALK = "pipeline.index", "pipeline.extraction.split.StructuredSplitter.__init__.__kwdefaults__"
_AROUND, _SCALE = "pipeline.text.surroundings.counted.__defaults__", f"{_INDEX}.asking.calibration"
PARTS = (
    Without("everything"),
    Without("without what stands around a passage", {_AROUND: (0,)}),
    Without("transcripts in passages of 800 characters", {_TALK: {"talk": 800}}),
    Without("without vectors", {_SCALE: lambda _: replace(WORDLLAMA, meaning=0.0)}),
    Without("without what speakers named in the question said", {f"{_INDEX}.cues.SPEAKER": 0.0}),
    Without("without times and numbers", {f"{_INDEX}.cues.TIME": 0.0, f"{_INDEX}.cues.NUMBER": 0.0}),
    Without("without the days of documents", {f"{_INDEX}.cues.DATE": 0.0}),
    Without("without the score of the document", {_SCALE: lambda _: replace(WORDLLAMA, documents=0.0)}),
    Without("without regard to questions for several things", {f"{_INDEX}.asking.SEVERAL": 1.0}),
    Without("without what memories say of passages", {f"{_INDEX}.refining.REMEMBERED": 0.0}),
    Without(
        "a second look at 128 passages", {f"{_INDEX}.candidates.CANDIDATES": {**CANDIDATES, "chunk": 128}}
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
    texts = [one for group in corpora(data) for one in group if not one.whole]
    print("| | 720 tokens | 2,000 tokens | texts, 720 tokens | texts, 2,000 tokens |")
    print("|---|---:|---:|---:|---:|", flush=True)
    for part in PARTS:
        with changed(part.numbers):
            print(f"| {part.name} | {asyncio.run(_measured(talks, texts))} |", flush=True)


@contextmanager
def changed(numbers: Mapping[str, Any]) -> Iterator[None]:
    """These names in modules stand for something else in the block."""
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
    embedder, found = open_embedder("wordllama"), Found()
    for one in talks:
        await _asked(one, found, embedder)
    shares = [share for one in texts for share in await asked_of(one, AS_IT_IS, embedder)]
    return " | ".join([*(f"{100 * share:.1f}" for share in found.every()), *means(shares)])


async def _asked(one: Conversation, found: Found, embedder: Embedder) -> None:
    index = (await corpus(one, extracted(one), embedder, by_turn=False, dated=True)).index
    for asked in (*one.questions, *one.adversarial):
        hits = await index.search(await ask(index, embedder, asked.text), _SEARCH)
        found.add(asked, one, [hit.text for hit in hits])


if __name__ == "__main__":
    main()
