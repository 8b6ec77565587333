"""`python -m bench.memory.replacement_weights`: learn when a newer statement ends an older one.

Weights of `pipeline.memory.outlines.replacement`, learned on the open pairs of messages, where the second replaces
the first or not, on the statements of the open people of `bench.datasets.worlds`, and on the memories of conversations
that people had, of which next to none replaces another. Each collection is judged by weights learned without it.
"""

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from bench.datasets.messy_pairs import PairSet, messy_pairs, pairs_of_file, practice_pairs
from bench.datasets.worlds import PARTS, worlds
from bench.logistic_regression import fit_logistic
from bench.memory.conversations import conversations
from bench.memory.coverage import extracted
from bench.memory.formed_memories import formed_memories
from bench.recall import DATA
from pipeline.memory.outlines.features import features
from pipeline.memory.outlines.readings import outline
from pipeline.memory.outlines.replacement import may_compare

RIDGE = 0.25
NATURAL_WEIGHT = 0.3
"""What an example of a conversation, or of what one person says, counts: they are many."""
_DAYS = (date(2026, 11, 20), date(2026, 11, 21))


@dataclass(frozen=True, slots=True)
class Example:
    """Two memories that may be compared: what they say, their features, and whether the newer replaces the older."""

    collection: str
    said: str
    features: frozenset[str]
    is_replaced: bool
    count: float = 1.0


def main() -> None:
    """Print the weights, and what weights that were learned without a collection say of it."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.replacement_weights", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of further pairs and conversations")
    options.add_argument("--show", action="store_true", help="print the examples with their probabilities")
    chosen = options.parse_args()
    examples = [*_pair_examples(chosen.data), *_world_examples(), *_natural_examples(chosen.data)]
    counts = np.array([example.count for example in examples])
    names = sorted({name for example in examples for name in example.features})
    rows = np.array([[1.0, *(name in example.features for name in names)] for example in examples])
    truth = np.array([example.is_replaced for example in examples], float)
    weights = fit_logistic(rows, truth, counts, ridge=RIDGE)
    print(f"bias = {weights[0]:.2f}\n[weights]")
    for name, weight in zip(names, weights[1:], strict=True):
        print(f'"{name}" = {weight:.2f}')
    kept = _cross_validated(rows, truth, counts, [example.collection for example in examples])
    for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        print(
            f"# from {least}: {int((truth * (kept >= least)).sum())} of {int(truth.sum())} replaced, "
            f"{int(((1 - truth) * (kept >= least)).sum())} of {int((1 - truth).sum())} wrongly"
        )
    if chosen.show:
        for at in np.argsort(-kept):
            print(f"{kept[at]:.2f} {int(truth[at])} {examples[at].said} {sorted(examples[at].features)}")


def _pair_examples(data: Path) -> Iterable[Example]:
    collections = {name: messy_pairs(name) for name in get_args(PairSet) if name.endswith("open")}
    collections |= {"further": pairs_of_file(data / "messy-pairs-dev.json"), "practice": practice_pairs()}
    for name, pairs in collections.items():
        first, second = (
            asyncio.run(formed_memories([getattr(pair, said) for pair in pairs], day))
            for said, day in zip(("first", "second"), _DAYS, strict=True)
        )
        for pair, older, newer in zip(pairs, first, second, strict=True):
            yield from _examples(name, newer, older, is_replaced=pair.is_update)


def _world_examples() -> Iterable[Example]:
    for part in PARTS:
        for world in worlds(locked=False, part=part):
            memories = asyncio.run(formed_memories(world.statements, _DAYS[0]))
            updates = {(older, newer) for _, newer, older in world.replaced}
            for older, newer in combinations(range(len(memories)), 2):
                is_replaced = (older, newer) in updates
                count = 1.0 if is_replaced else NATURAL_WEIGHT
                yield from _examples("worlds", memories[newer], memories[older], is_replaced=is_replaced, count=count)


def _natural_examples(data: Path) -> Iterable[Example]:
    for number, conversation in enumerate(conversations(data / "locomo-dev.json")):
        texts = list(dict.fromkeys(memory.text for memory in extracted(conversation)))
        for at, newer in enumerate(texts):
            if outline(newer).tells_of_change:
                yield from _examples(
                    f"conversation {number}", [newer], texts[:at], is_replaced=False, count=NATURAL_WEIGHT
                )


def _examples(
    collection: str, newer: Sequence[str], older: Sequence[str], *, is_replaced: bool, count: float = 1.0
) -> Iterable[Example]:
    for new in newer:
        for old in older:
            if new != old and may_compare(outline(new), outline(old)):
                found = frozenset(features(outline(new), outline(old)))
                yield Example(collection, f"{old} -> {new}", found, is_replaced, count)


def _cross_validated(
    rows: NDArray[np.float64], truth: NDArray[np.float64], counts: NDArray[np.float64], collections: Sequence[str]
) -> NDArray[np.float64]:
    of, found = np.array(collections), np.zeros(len(truth))
    for name in set(collections):
        weights = fit_logistic(rows[of != name], truth[of != name], counts[of != name], ridge=RIDGE)
        found[of == name] = 1 / (1 + np.exp(-rows[of == name] @ weights))
    return found


if __name__ == "__main__":
    main()
