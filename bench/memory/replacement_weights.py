"""`python -m bench.memory.replacement_weights`: learn when a newer statement ends an older one.

Weights of `pipeline.memory.attributes.replacement`, learned on the open pairs of messages, where the second replaces
the first or not, and on the memories of conversations that people had, of which next to none replaces another.
"""

import argparse
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from bench.datasets.messy_pairs import PairSet, messy_pairs, pairs_of_file, practice_pairs
from bench.logistic_regression import fit_logistic
from bench.memory.conversations import conversations
from bench.memory.coverage import extracted
from bench.recall import DATA
from pipeline.memory.attributes.replacement import features, may_compare
from pipeline.memory.attributes.statements import outline
from pipeline.memory.formation.rule_based_extraction import extract_facts

RIDGE = 0.25
NATURAL_WEIGHT = 0.3
"""What an example of a conversation counts: they are many."""
FOLDS = 10


def main() -> None:
    """Print the weights, and what folds that were kept aside say of them."""
    options = argparse.ArgumentParser(prog="python -m bench.memory.replacement_weights", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of further pairs and conversations")
    options.add_argument("--show", action="store_true", help="print the examples with their probabilities")
    chosen = options.parse_args()
    paired, natural = list(_pair_examples(chosen.data)), list(_natural_examples(chosen.data))
    examples = [*paired, *natural]
    counts = np.array([1.0] * len(paired) + [NATURAL_WEIGHT] * len(natural))
    names = sorted({name for _, found, _ in examples for name in found})
    rows = np.array([[1.0, *(name in found for name in names)] for _, found, _ in examples])
    truth = np.array([is_replaced for _, _, is_replaced in examples], float)
    weights = fit_logistic(rows, truth, counts, ridge=RIDGE)
    print(f"_BIAS = {weights[0]:.2f}\n_WEIGHTS = {{")
    for name, weight in zip(names, weights[1:], strict=True):
        print(f'    "{name}": {weight:.2f},')
    print("}")
    kept = _cross_validated(rows, truth, counts)
    for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        print(
            f"# from {least}: {int((truth * (kept >= least)).sum())} of {int(truth.sum())} replaced, "
            f"{int(((1 - truth) * (kept >= least)).sum())} of {int((1 - truth).sum())} wrongly"
        )
    if chosen.show:
        for at in np.argsort(-kept):
            print(f"{kept[at]:.2f} {int(truth[at])} {examples[at][0]} {sorted(examples[at][1])}")


Example = tuple[str, frozenset[str], bool]


def _pair_examples(data: Path) -> Iterable[Example]:
    pairs = [pair for name in get_args(PairSet) if name.endswith("open") for pair in messy_pairs(name)]
    pairs += [*pairs_of_file(data / "messy-pairs-dev.json"), *practice_pairs()]
    for pair in pairs:
        first, second = (
            extract_facts(text, date(2026, 11, day)) for text, day in ((pair.first, 20), (pair.second, 21))
        )
        yield from _examples([fact.text for fact in second], [fact.text for fact in first], is_replaced=pair.is_update)


def _natural_examples(data: Path) -> Iterable[Example]:
    for conversation in conversations(data / "locomo-dev.json"):
        texts = list(dict.fromkeys(memory.text for memory in extracted(conversation)))
        for at, newer in enumerate(texts):
            if outline(newer).tells_of_change:
                yield from _examples([newer], texts[:at], is_replaced=False)


def _examples(newer: Sequence[str], older: Sequence[str], *, is_replaced: bool) -> Iterable[Example]:
    for new in newer:
        for old in older:
            if new != old and may_compare(outline(new), outline(old)):
                yield f"{old} -> {new}", frozenset(features(outline(new), outline(old))), is_replaced


def _cross_validated(
    rows: NDArray[np.float64], truth: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    fold = np.arange(len(truth)) % FOLDS
    found = np.zeros(len(truth))
    for at in range(FOLDS):
        weights = fit_logistic(rows[fold != at], truth[fold != at], counts[fold != at], ridge=RIDGE)
        found[fold == at] = 1 / (1 + np.exp(-rows[fold == at] @ weights))
    return found


if __name__ == "__main__":
    main()
