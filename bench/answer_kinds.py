"""`python -m bench.answer_kinds`: learn anew what kind of answer a question asks for, and which statements tell it.

Writes `e5_answer_kinds.npy` and `e5_with_encoder_answer_kinds.npy` in `pipeline/index/ranking/learned` from
`bench.datasets.answer_kinds`: a logistic regression for each kind against all others, of questions and of statements.
People say several things at once, so it learns from as many texts of two or three statements as well: such a text
tells each of their kinds. And it learns from the memories of single statements, which begin otherwise ("User: …").
"""

import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.datasets.answer_kinds import answer_kinds
from bench.learned_files import common_part_of, learn_files
from bench.logistic_regression import fit_logistic
from pipeline.index.ranking.calibration import learned_file
from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.ports import Embedder
from pipeline.text.analyzer import detect_language, words

_RIDGE = 0.3
_TEXTS_PER_STATEMENT = 2
_SEED = 1
Matrix = NDArray[np.float32]


def main() -> None:
    """Write the files."""
    learn_files(_learn_file)


async def _learn_file(embedder: Embedder) -> None:
    common, kinds = common_part_of(embedder), answer_kinds()
    questions = [
        np.stack([common.query_direction(await embedder.embed_query(text)) for text in texts]) for texts, _ in kinds
    ]
    told = [(text, {kind}) for kind, (_, texts) in enumerate(kinds) for text in texts]
    memories = [(fact.text, kinds) for text, kinds in told for fact in extract_facts(text)]
    told += [*compound_texts(told), *memories]
    statements = common.directions_of(np.stack(await embedder.embed_documents([text for text, _ in told])))
    asked = [{kind} for kind, own in enumerate(questions) for _ in own]
    count = len(kinds) - 1
    learned = [learn(np.concatenate(questions), asked, count), learn(statements, [owners for _, owners in told], count)]
    path = learned_file(embedder.name, "answer_kinds")
    np.save(path, np.stack(learned, axis=1).astype(np.float16))
    print(f"{path}: {len(told)} statements")


def compound_texts(statements: Sequence[tuple[str, set[int]]]) -> Iterator[tuple[str, set[int]]]:
    """Yield texts that say several things: each statement twice, with one or two others of its language."""
    chosen = random.Random(_SEED)
    by_language: dict[str, list[tuple[str, set[int]]]] = defaultdict(list)
    for text, kinds in statements:
        by_language[detect_language(words(text), text)].append((text, kinds))
    for language, alike in by_language.items():
        for own in alike:
            others = [each for each in alike if each[1] != own[1]]
            for _ in range(_TEXTS_PER_STATEMENT if len(others) > 1 else 0):
                parts = [own, *chosen.sample(others, chosen.choice((1, 2)))]
                chosen.shuffle(parts)
                comma = "、" if language in ("chinese", "japanese") else ", "
                yield comma.join(text.rstrip(".。!") for text, _ in parts), set().union(*(kinds for _, kinds in parts))


def learn(
    directions: Matrix, owners: Sequence[Collection[int]], count: int, ridge: float = _RIDGE
) -> NDArray[np.float64]:
    """Return a row of weights for each of `count` kinds, its constant last: those of its rows against all others."""
    rows = np.hstack([np.ones((len(directions), 1)), directions.astype(np.float64)])
    return np.stack([_learn_kind(rows, np.array([kind in own for own in owners]), ridge) for kind in range(count)])


def _learn_kind(rows: NDArray[np.float64], own: NDArray[np.bool_], ridge: float) -> NDArray[np.float64]:
    counts = np.where(own, (~own).sum() / own.sum(), 1.0)
    return np.roll(fit_logistic(rows, own.astype(float), counts, ridge=ridge), -1)


if __name__ == "__main__":
    main()
