"""`python -m bench.answer_kinds`: learn anew what kind of answer a question asks for, and which statements tell it.

Writes `e5_answer_kinds.npy` and `e5_with_encoder_answer_kinds.npy` in `pipeline/index/ranking/learned` from
`bench.datasets.answer_kinds`: a logistic regression for each kind against all others, of questions and of statements.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.datasets.answer_kinds import answer_kinds
from bench.logistic_regression import fit_logistic
from pipeline.index.ranking.learned.answer_kinds import E5_KINDS_FILE, E5_WITH_ENCODER_KINDS_FILE
from pipeline.index.ranking.ranking_parameters import calibration_for
from pipeline.models import open_embedder
from pipeline.ports import Embedder

_RIDGE = 0.3


def main() -> None:
    """Write the files."""
    asyncio.run(_write())


async def _write() -> None:
    await _learn_file(open_embedder("e5"), E5_KINDS_FILE)
    await _learn_file(open_embedder("e5-encoder"), E5_WITH_ENCODER_KINDS_FILE)


async def _learn_file(embedder: Embedder, path: Path) -> None:
    common, kinds = calibration_for(embedder.name).common_part, answer_kinds()
    if common is None:
        raise ValueError(f"{embedder.name} has no common part")
    questions = [
        np.stack([common.query_direction(await embedder.embed_query(text)) for text in texts]) for texts, _ in kinds
    ]
    statements = [common.directions_of(np.stack(await embedder.embed_documents(texts))) for _, texts in kinds]
    learned = np.stack([learn(questions), learn(statements)], axis=1)
    np.save(path, learned.astype(np.float16))
    print(f"{path}: {learned.shape}")


def learn(kinds: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """Return a row of weights for each kind but the last, its constant last: those of its rows against all others."""
    count = sum(len(kind) for kind in kinds)
    rows = np.hstack([np.ones((count, 1)), np.concatenate(kinds).astype(np.float64)])
    owners = np.repeat(np.arange(len(kinds)), [len(kind) for kind in kinds])
    return np.stack([_learn_kind(rows, owners == kind) for kind in range(len(kinds) - 1)])


def _learn_kind(rows: NDArray[np.float64], own: NDArray[np.bool_]) -> NDArray[np.float64]:
    counts = np.where(own, (~own).sum() / own.sum(), 1.0)
    return np.roll(fit_logistic(rows, own.astype(float), counts, ridge=_RIDGE), -1)


if __name__ == "__main__":
    main()
