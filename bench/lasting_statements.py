"""`python -m bench.lasting_statements`: learn anew which statements last, for both default models.

Writes `lasting_*.npy` in `pipeline/profile` from `bench.datasets.lasting_statements`: a logistic regression of their
vectors, beside what the rules for English say. `--check` prints how many are right when each tenth is left out in turn.
"""

import argparse
import asyncio
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.datasets.lasting_statements import lasting_statements
from bench.logistic_regression import fit_logistic
from pipeline.memory.grammar.permanence import is_static
from pipeline.models import open_embedder
from pipeline.profile.fact_relevance import is_foreign, is_lasting, lasting_file
from pipeline.vector_classifier import VectorClassifier, center_vectors

_RIDGE = 0.3
_FOLDS = 10
_MODELS: tuple[Literal["e5-encoder", "e5"], ...] = ("e5-encoder", "e5")


def main() -> None:
    """Write the files, or print the table."""
    options = argparse.ArgumentParser(prog="python -m bench.lasting_statements", description=__doc__)
    options.add_argument("--check", action="store_true")
    asyncio.run(_run(check=options.parse_args().check))


async def _run(*, check: bool) -> None:
    texts, lasts = zip(*lasting_statements(), strict=True)
    truth = np.array(lasts, np.float64)
    for name in _MODELS:
        embedder = open_embedder(name)
        vectors = np.stack(await embedder.embed_documents(texts))
        if check:
            _print_rates(embedder.name, texts, vectors, truth)
            continue
        learned, path = learn(texts, vectors, truth), lasting_file(embedder.name)
        learned.save(path)
        print(path)


def learn(texts: tuple[str, ...], vectors: NDArray[np.float32], truth: NDArray[np.float64]) -> VectorClassifier:
    """Return the classifier of these vectors; the rules for English are a column whose weight is left out."""
    mean = vectors.mean(axis=0)
    counts = np.ones(len(texts))
    columns = np.column_stack((counts, center_vectors(vectors, mean), _said_by_rules(texts))).astype(np.float64)
    weights = fit_logistic(columns, truth, counts, ridge=_RIDGE)
    return VectorClassifier(weights[1:-1].astype(np.float32), float(weights[0]), mean)


def _said_by_rules(texts: tuple[str, ...]) -> NDArray[np.float64]:
    return np.array([0 if is_foreign(text) else 2 * is_lasting(text, is_static=is_static(text)) - 1 for text in texts])


def _print_rates(name: str, texts: tuple[str, ...], vectors: NDArray[np.float32], truth: NDArray[np.float64]) -> None:
    folds = np.random.default_rng(0).permutation(len(texts)) % _FOLDS
    found = np.zeros(len(texts), np.bool_)
    for fold in range(_FOLDS):
        kept, left = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        learned = learn(tuple(texts[at] for at in kept), vectors[kept], truth[kept])
        found[left] = [
            is_lasting(texts[at], is_static=is_static(texts[at]), log_odds=float(log_odds))
            for at, log_odds in zip(left, learned.log_odds(vectors[left]), strict=True)
        ]
    by_rules = np.array([is_lasting(text, is_static=is_static(text)) for text in texts])
    foreign = np.array([is_foreign(text) for text in texts])
    for language, group in (("English", ~foreign), ("other languages", foreign)):
        right = (100 * (answers == truth)[group].mean() for answers in (by_rules, found))
        print(f"| {name} | {language} | {group.sum()} | {' | '.join(f'{rate:.0f}' for rate in right)} |")


if __name__ == "__main__":
    main()
