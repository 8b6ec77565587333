"""How right relations are, and what finding them costs: `python -m bench.memory.relations`.

Pairs: `tests/data/relations`. Conversations: LoCoMo's, which are not shipped; `--data` names their folder.
"""

import argparse
import asyncio
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time
from typing import Literal

from bench.figures import machine, milliseconds
from bench.memory.conversations import conversations
from bench.memory.coverage import extracted
from bench.memory.growth import NAME, SPACE, fill, opened
from bench.recall import DATA
from pipeline.index.cache import NamespaceCache
from pipeline.inference import open_embedder
from pipeline.memory.deriving.rules import concluded, held, sought
from pipeline.memory.details import parent
from pipeline.memory.ledger import Ledger
from pipeline.memory.relations import judge, moment, replaced
from pipeline.memory.slots.reading import slots
from pipeline.memory.slots.slot import Slot, repeats
from pipeline.ports import KeyIndex, Neighbour, Neighbours, SharedWords
from pipeline.text.terms import hashed
from tests.data import conclusions
from tests.data.relations import Verdict, pairs

CACHE = 1 << 30
ASKED = 1000
_ANSWERS: tuple[Verdict, ...] = ("updates", "extends", "same")


def main() -> None:
    """Print the tables as Markdown."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.relations", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    options.add_argument("--memories", type=int, default=100_000, help="of the namespace that is searched")
    options.add_argument("--show", action="store_true", help="each relation of the conversations, to be read")
    chosen = options.parse_args()
    print("| half | relation | pairs | found | precision | recall |\n|---|---|---:|---:|---:|---:|")
    _print_pairs("open")
    _print_pairs("details")
    _print_pairs("locked")
    _print_conclusions("open")
    _print_conclusions("locked")
    path = chosen.data / "locomo-dev.json"
    if path.is_file():
        _print_stream(path, show=chosen.show)
    with tempfile.TemporaryDirectory(prefix="recollect-relations-") as folder:
        asyncio.run(_print_cost(Path(folder), chosen.memories))


def _print_pairs(half: Literal["open", "details", "locked"]) -> None:
    all_of = pairs(half)
    near = _near(sorted({one.old for one in all_of}))
    said = Counter((one.verdict, _judged(one.old, one.new, near)) for one in all_of)
    for answer in _ANSWERS:
        right = said[answer, answer]
        given = sum(count for (_, found), count in said.items() if found == answer)
        wanted = sum(count for (truth, _), count in said.items() if truth == answer)
        if wanted:
            print(f"| {half} | {answer} | {wanted} | {given} | {right / given:.3f} | {right / wanted:.3f} |")


def _print_conclusions(half: Literal["open", "locked"]) -> None:
    every = conclusions.pairs(half)
    drawn = [([one.text for one in concluded(pair.one, pair.other)], pair.conclusion) for pair in every]
    wanted = sum(truth is not None for _, truth in drawn)
    given = sum(len(texts) for texts, _ in drawn)
    right = sum(truth in texts for texts, truth in drawn)
    print(f"| {half} | derives | {wanted} | {given} | {right / given:.3f} | {right / wanted:.3f} |")


def _judged(old: str, new: str, near: Neighbours) -> Verdict:
    ours, theirs = slots(new), slots(old)
    if any(repeats(one, other) for one in ours for other in theirs):
        return "same"
    if replaced(ours, theirs):
        return "updates"
    return "extends" if parent(new, [Neighbour("", old)], near) else "unrelated"


def _near(texts: Sequence[str]) -> Neighbours:
    held = [set(hashed(text).tolist()) for text in texts]
    return Neighbours(len(texts), Counter(term for terms in held for term in terms))


def _print_stream(path: Path, *, show: bool) -> None:
    """Every memory of every conversation, in order, against those before it."""
    memories, fired = 0, Counter[str]()
    for conversation in conversations(path):
        texts = list(dict.fromkeys(one.text for one in extracted(conversation)))
        memories += len(texts)
        for kind, old, new, why in _related(texts):
            fired[kind] += 1
            if show:
                print(f"{kind}: {old} | {new} | {why}")
    print(f"\n{memories:,} memories of conversations:")
    for kind in (*_ANSWERS, "derives"):
        print(f"- {kind}: {fired[kind]}, {1000 * fired[kind] / memories:.1f} per 1,000")


def _related(texts: Sequence[str]) -> Iterator[tuple[str, str, str, str]]:
    filled: defaultdict[tuple[str, str], list[tuple[Slot, str]]] = defaultdict(list)
    offered: defaultdict[str, list[str]] = defaultdict(list)
    counted = Counter[int]()
    for at, new in enumerate(texts):
        own = slots(new)
        for slot in own:
            for other, old in filled[slot.key]:
                if repeats(slot, other):
                    yield "same", old, new, slot.attribute
                elif replaced([slot], [other]):
                    yield "updates", old, new, slot.attribute
        for slot in own:
            filled[slot.key].append((slot, new))
        for partner in dict.fromkeys(text for key in sought(new) for text in offered[key]):
            yield from (("derives", partner, new, one.text) for one in concluded(new, partner))
        for key in held(new):
            offered[key].append(new)
        if more := parent(new, [Neighbour(old, old) for old in texts[:at]], Neighbours(at, counted)):
            yield "extends", more.target, new, more.why
        counted.update(set(hashed(new).tolist()))


async def _print_cost(data: Path, size: int) -> None:
    await fill(data, size)
    store, at = await opened(data, open_embedder("wordllama")), moment("2026-01-01", datetime.now(UTC))
    cache = NamespaceCache(
        store.documents, store.chunks, store.memories, store.catalog, CACHE, folder=data / "index"
    )
    ledger = Ledger(store.memories)
    words = await cache.shared_words(NAME)
    if words is None:
        message = f"There is no namespace {NAME}"
        raise SystemExit(message)
    print(f"\nRelations of one new memory in a namespace of {size:,}, ms; {machine()}.\n")
    print("| about | | median | p99 | most |\n|---|---|---:|---:|---:|")
    for about, index in _ABOUT:
        held = cache if index else None
        taken = [await _taken(ledger, held, words, number, at) for number in range(ASKED)]
        for clock, each in zip(("CPU", "clock"), zip(*taken, strict=True), strict=True):
            figures = (milliseconds(each), milliseconds(each, 0.99), 1000 * max(each))
            print(f"| {about} | {clock} | {' | '.join(f'{one:.2f}' for one in figures)} |")
    await store.close()


async def _taken(
    ledger: Ledger, index: KeyIndex | None, words: SharedWords, number: int, at: datetime
) -> tuple[float, float]:
    """Slots, those who share them, the verdict, the neighbours by words, and the parent among them; seconds
    of CPU and on the clock."""
    text = _NEW[number % len(_NEW)].format(number=number, who=f"Person{number * 7}")
    begun, began = process_time(), perf_counter()
    own = slots(text)
    partners = sought(text)
    known = await ledger.sharing([SPACE], own, partners, index=index)
    judge(own, at, known.sharing([SPACE], own))
    for one in known.keyed([SPACE], partners):
        concluded(text, one.text)
    near = words(hashed(text))
    parent(text, near.found, near)
    return process_time() - begun, perf_counter() - began


_ABOUT = (
    ("somebody not asked about yet", True),
    ("the same again", True),
    ("the same from tables", False),
    ("the same from tables again", False),
)
"""And whether the hot index is asked; tables say it where a namespace is too large for that."""
_NEW = (
    "{who} moved to City{number}",
    "{who} likes the museum in City{number}",
    "{who} no longer works at Company{number}",
    "{who} has 9 cats",
    "{who} gave the report of unit {number} to Person{number} at the cello concert",
)


if __name__ == "__main__":
    main()
