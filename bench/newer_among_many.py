"""`python -m bench.newer_among_many`: learn which newer statement answers where most are about something else.

Prints the weights that `newer_statement` takes among many rows. Examples are pairs that searches compare in namespaces
of sixty pairs of messages, of open halves, and of the texts of two synced sources. Run it after
`python -m bench.statement_meanings`, whose files it reads.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np

from bench.datasets.messy_pairs import PairSet, messy_pairs
from bench.datasets.synced_sources import read_source
from bench.logistic_regression import fit_logistic
from bench.newer_statement import Asked, Namespace
from bench.ranking import KeptVectors
from bench.statement_meanings import Example, compared_pairs, count_examples
from pipeline.index.ranking.learned.newer_statement import objections, plain_marks
from pipeline.models import open_embedder

_TOGETHER = 60
"""Pairs of messages in a namespace."""
_SOURCES = ("club", "student")
"""Synced sources whose questions were all looked at."""
_SEED = 2
_RIDGE = 5.0
_OBJECTIONS = 8


def main() -> None:
    """Learn, and print the weights."""
    options = argparse.ArgumentParser(prog="python -m bench.newer_among_many", description=__doc__)
    options.add_argument("--vectors", type=Path, default=Path(tempfile.gettempdir()), help="folder that keeps vectors")
    folder = options.parse_args().vectors
    examples: list[Example] = []
    for name in ("e5", "e5-encoder"):
        kept = KeptVectors(open_embedder(name), folder / f"recollect-bench-{name}.npz")
        examples += asyncio.run(compared_pairs(_namespaces(), kept))
    marks = np.array(
        [(each.pair.meaning_log_odds, *plain_marks(each.pair), *objections(each.pair)) for each in examples]
    )
    mean, deviation = marks.mean(axis=0), marks.std(axis=0)
    rows = np.hstack([np.ones((len(examples), 1)), (marks - mean) / deviation])
    truth = np.array([each.replaces for each in examples], float)
    learned = fit_logistic(rows, truth, count_examples(examples), ridge=_RIDGE)
    weights = learned[1:] / deviation
    for label, part in (
        ("bias", [learned[0] - weights @ mean]),
        ("meanings", weights[:1]),
        ("plain marks", weights[1:-_OBJECTIONS]),
        ("objections", np.minimum(weights[-_OBJECTIONS:], 0.0)),
    ):
        print(f"{label}: {', '.join(f'{weight:.2f}' for weight in part)}")


def _namespaces() -> Iterator[Namespace]:
    names = [name for name in get_args(PairSet) if name.endswith("open")]
    pairs = list(dict.fromkeys(pair for name in names for pair in messy_pairs(name) if pair.question is not None))
    random.Random(_SEED).shuffle(pairs)
    for start in range(0, len(pairs) - _TOGETHER + 1, _TOGETHER):
        some = pairs[start : start + _TOGETHER]
        said = dict.fromkeys([*(pair.first for pair in some), *(pair.second for pair in some)])
        asked = [Asked(pair.question or "", pair.second if pair.second_answers else pair.first) for pair in some]
        yield Namespace("messages", list(said), asked)
    for name in _SOURCES:
        source = read_source(name)
        contents = [text.content for text in source.texts]
        answers = [*source.answered, *((question, newer) for question, newer, _ in source.replaced)]
        asked = [
            Asked(question, contents[min(answer.places)]) for question, answer in answers if len(answer.places) == 1
        ]
        yield Namespace(name, contents, asked)


if __name__ == "__main__":
    main()
