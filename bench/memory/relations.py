"""Precision, recall and cost of relations between memories: `python -m bench.memory.relations`.

Pairs: `bench/datasets/relations`. Conversations: LoCoMo's, which are not shipped; `--data` names their folder.
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

from bench.datasets import conclusions
from bench.datasets.relations import Verdict, pairs
from bench.memory.conversations import conversations
from bench.memory.coverage import extracted
from bench.memory.marginal_cost import NAME, SPACE, fill, open_filled_store
from bench.recall import DATA
from bench.result_tables import machine_description, milliseconds
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.memory.attributes.attribute import Attribute, is_equivalent
from pipeline.memory.attributes.attribute_extraction import comparable_attributes
from pipeline.memory.formation.extends_relations import find_extends_relation
from pipeline.memory.inference.inference_rules import apply_rules, partner_keys, premise_keys
from pipeline.memory.versioning.fact_comparison import compare_fact, find_contradiction, parse_valid_time
from pipeline.memory.versioning.fact_lookup import FactLookup
from pipeline.models import open_embedder
from pipeline.ports import LexicalNeighborSearch, MemoryKeyIndex, NearestMemories, NearestMemory
from pipeline.text.analyzer import hash_terms

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
    near = _lexical_neighbours(sorted({pair.old for pair in all_of}))
    verdicts = Counter((pair.verdict, _classify_pair(pair.old, pair.new, near)) for pair in all_of)
    for answer in _ANSWERS:
        right = verdicts[answer, answer]
        given = sum(count for (_, found), count in verdicts.items() if found == answer)
        expected = sum(count for (truth, _), count in verdicts.items() if truth == answer)
        if expected:
            print(f"| {half} | {answer} | {expected} | {given} | {right / given:.3f} | {right / expected:.3f} |")


def _print_conclusions(half: Literal["open", "locked"]) -> None:
    every = conclusions.pairs(half)
    drawn = [
        ([inference.text for inference in apply_rules(pair.first, pair.second)], pair.conclusion) for pair in every
    ]
    expected = sum(truth is not None for _, truth in drawn)
    given = sum(len(texts) for texts, _ in drawn)
    right = sum(truth in texts for texts, truth in drawn)
    print(f"| {half} | derives | {expected} | {given} | {right / given:.3f} | {right / expected:.3f} |")


def _classify_pair(old: str, new: str, near: NearestMemories) -> Verdict:
    ours, theirs = comparable_attributes(new), comparable_attributes(old)
    if any(is_equivalent(left, right) for left in ours for right in theirs):
        return "same"
    if find_contradiction(ours, theirs):
        return "updates"
    return "extends" if find_extends_relation(new, [NearestMemory("", old)], near) else "unrelated"


def _lexical_neighbours(texts: Sequence[str]) -> NearestMemories:
    held = [set(hash_terms(text).tolist()) for text in texts]
    return NearestMemories(len(texts), Counter(term for terms in held for term in terms))


def _print_stream(path: Path, *, show: bool) -> None:
    """Every memory of every conversation, in order, against those before it."""
    memories, fired = 0, Counter[str]()
    for conversation in conversations(path):
        texts = list(dict.fromkeys(memory.text for memory in extracted(conversation)))
        memories += len(texts)
        for kind, old, new, why in _relations_of(texts):
            fired[kind] += 1
            if show:
                print(f"{kind}: {old} | {new} | {why}")
    print(f"\n{memories:,} memories of conversations:")
    for kind in (*_ANSWERS, "derives"):
        print(f"- {kind}: {fired[kind]}, {1000 * fired[kind] / memories:.1f} per 1,000")


def _relations_of(texts: Sequence[str]) -> Iterator[tuple[str, str, str, str]]:
    filled: defaultdict[tuple[str, str], list[tuple[Attribute, str]]] = defaultdict(list)
    offered: defaultdict[str, list[str]] = defaultdict(list)
    counted = Counter[int]()
    for at, new in enumerate(texts):
        own = comparable_attributes(new)
        for slot in own:
            for other, old in filled[slot.key]:
                if is_equivalent(slot, other):
                    yield "same", old, new, slot.name
                elif find_contradiction([slot], [other]):
                    yield "updates", old, new, slot.name
        for slot in own:
            filled[slot.key].append((slot, new))
        for partner in dict.fromkeys(text for key in partner_keys(new) for text in offered[key]):
            yield from (("derives", partner, new, inference.text) for inference in apply_rules(new, partner))
        for key in premise_keys(new):
            offered[key].append(new)
        if more := find_extends_relation(
            new, [NearestMemory(old, old) for old in texts[:at]], NearestMemories(at, counted)
        ):
            yield "extends", more.target, new, more.reason
        counted.update(set(hash_terms(new).tolist()))


async def _print_cost(data: Path, size: int) -> None:
    await fill(data, size)
    store, at = (
        await open_filled_store(data, open_embedder("wordllama")),
        parse_valid_time("2026-01-01", datetime.now(UTC)),
    )
    cache = NamespaceIndexCache(
        store.documents, store.chunks, store.memories, store.catalog, CACHE, folder=data / "index"
    )
    ledger = FactLookup(store.memories)
    words = await cache.neighbor_search(NAME)
    if words is None:
        message = f"There is no namespace {NAME}"
        raise SystemExit(message)
    print(f"\nRelations of one new memory in a namespace of {size:,}, ms; {machine_description()}.\n")
    print("| about | | median | p99 | most |\n|---|---|---:|---:|---:|")
    for about, index in _ABOUT:
        held = cache if index else None
        taken = [await _time_relation_lookup(ledger, held, words, number, at) for number in range(ASKED)]
        for clock, each in zip(("CPU", "clock"), zip(*taken, strict=True), strict=True):
            figures = (milliseconds(each), milliseconds(each, 0.99), 1000 * max(each))
            print(f"| {about} | {clock} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")
    await store.close()


async def _time_relation_lookup(
    ledger: FactLookup, index: MemoryKeyIndex | None, words: LexicalNeighborSearch, number: int, at: datetime
) -> tuple[float, float]:
    """Slots, those who share them, the verdict, the neighbours by words, and the parent among them; seconds
    of CPU and on the clock."""
    text = _NEW[number % len(_NEW)].format(number=number, who=f"Person{number * 7}")
    begun, began = process_time(), perf_counter()
    own = comparable_attributes(text)
    partners = partner_keys(text)
    known = await ledger.candidates_for([SPACE], own, partners, index=index)
    compare_fact(own, at, known.candidates_for([SPACE], own))
    for fact in known.with_keys([SPACE], partners):
        apply_rules(text, fact.text)
    near = words(hash_terms(text))
    find_extends_relation(text, near.memories, near)
    return process_time() - begun, perf_counter() - began


_ABOUT = (
    ("somebody not asked about yet", True),
    ("the same again", True),
    ("the same from tables", False),
    ("the same from tables again", False),
)
"""Cases to measure, each with whether the namespace index is used rather than the tables."""
_NEW = (
    "{who} moved to City{number}",
    "{who} likes the museum in City{number}",
    "{who} no longer works at Company{number}",
    "{who} has 9 cats",
    "{who} gave the report of unit {number} to Person{number} at the cello concert",
)


if __name__ == "__main__":
    main()
