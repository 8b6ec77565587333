"""`python -m bench.newer_statement`: learn when a newer statement answers a question instead of an older one.

Writes `e5_told_changes.npy` and `e5_with_encoder_told_changes.npy` in `pipeline/index/ranking/learned`: what tells of
a change. Prints the weights of `pipeline.index.ranking.learned.newer_statement`, and what each set says of those
learned without it. An example is a pair of statements among the best for a question: the newer one answers, or the
older one does.
"""

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.datasets.answered import answered_statements
from bench.datasets.changed_lives import changed_lives
from bench.datasets.messy_pairs import messy_pairs
from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, paraphrases
from bench.datasets.successions import successions
from bench.datasets.worlds import PARTS as WORLDS
from bench.datasets.worlds import worlds
from bench.learned_files import common_part_of
from bench.logistic_regression import fit_logistic
from pipeline.index.ranking.calibration import calibration_for, learned_file
from pipeline.index.ranking.learned.newer_statement import (
    LEAST_LOG_ODDS,
    StatementPair,
    kind_marks,
    measures,
    usual_likeness,
    word_marks,
)
from pipeline.index.ranking.learned.statement_directions import ToldChanges
from pipeline.index.ranking.ranking_parameters import NEWER_CANDIDATES
from pipeline.models import open_embedder
from pipeline.ports import Embedder
from pipeline.text.statement_words import asks_about_asker

_TOGETHER = 8
"""Pairs in a namespace, so that a question meets statements about something else as well."""
_REPLACED_SHARE = 0.3
"""What all examples of a replacement count together, of what the others do: these are many, and alike."""
_RIDGE = 0.02
_CHANGE_SHARE = 0.5
_CHANGE_RIDGE = 0.3
"""The same for statements that tell of a change, which a vector decides."""
_SEED = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the statement that answers it, and an older one that the answer replaces."""

    question: str
    right: str
    replaced: str | None = None


@dataclass(frozen=True, slots=True)
class Namespace:
    """Statements from the oldest to the newest, and questions to them."""

    source: str
    statements: list[str]
    asked: list[Asked]


@dataclass(frozen=True, slots=True)
class Example:
    """What the vectors and words of a pair tell, and whether the newer statement answers."""

    source: str
    values: tuple[float, ...]
    replaces: bool


def main() -> None:
    """Print the weights, then for each set and kind of language what those learned without it find."""
    examples = asyncio.run(_examples())
    weights = _learn(examples)
    print(f"_BIAS = {weights[0]:.2f}")
    parts = (("_MEASURE_WEIGHTS", weights[1:-7]), ("_KIND_WEIGHTS", weights[-7:-4]), ("_MARK_WEIGHTS", weights[-4:]))
    for name, part in parts:
        print(f"{name} = ({', '.join(f'{weight:.2f}' for weight in part)})")
    for source in dict.fromkeys(example.source for example in examples):
        others = [example for example in examples if example.source != source]
        for readable in (True, False):
            kept = [each for each in examples if each.source == source and bool(each.values[-1]) == readable]
            if kept:
                print(f"# {source}, {'read' if readable else 'not read'}: {_judge(_learn(others), kept)}")


def _learn(examples: Sequence[Example]) -> NDArray[np.float64]:
    rows = np.array([(1.0, *example.values) for example in examples])
    truth = np.array([example.replaces for example in examples], float)
    counts = np.where(truth == 1.0, _REPLACED_SHARE * (truth == 0.0).sum() / truth.sum(), 1.0)
    return fit_logistic(rows, truth, counts, ridge=_RIDGE)


def _judge(weights: NDArray[np.float64], examples: Sequence[Example]) -> str:
    found = {True: [0, 0], False: [0, 0]}
    for example in examples:
        found[example.replaces][0] += bool(weights @ (1.0, *example.values) >= LEAST_LOG_ODDS)
        found[example.replaces][1] += 1
    return "newer first {} of {}, wrongly {} of {}".format(*found[True], *found[False])


async def _examples() -> list[Example]:
    found = []
    embedders = (open_embedder("e5-encoder"), open_embedder("e5"))
    every = list(namespaces())
    for embedder in embedders:
        changes = await _changes_of(every, embedder)
        for namespace in every:
            found += await _compare(namespace, embedder, changes[namespace.source])
    return found


async def _changes_of(namespaces: Sequence[Namespace], embedder: Embedder) -> dict[str, ToldChanges]:
    """Write what tells of changes, and return what is learned without each source: examples are judged by that."""
    common = common_part_of(embedder)
    replacing = {asked.right for namespace in namespaces for asked in namespace.asked if asked.replaced}
    sources = {text: namespace.source for namespace in namespaces for text in namespace.statements}
    directions = common.directions_of(np.stack(await embedder.embed_documents(list(sources))))
    rows = np.hstack([np.ones((len(sources), 1)), directions.astype(np.float64)])
    truth, owners = np.array([text in replacing for text in sources]), np.array(list(sources.values()))

    def learn(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        counts = np.where(truth, _CHANGE_SHARE * (kept & ~truth).sum() / (kept & truth).sum(), 1.0)[kept]
        return np.roll(fit_logistic(rows[kept], truth[kept].astype(float), counts, ridge=_CHANGE_RIDGE), -1)

    np.save(learned_file(embedder.name, "told_changes"), learn(np.ones(len(rows), np.bool_)).astype(np.float16))
    learned = {source: learn(owners != source).astype(np.float32) for source in set(owners.tolist())}
    return {source: ToldChanges(weights[:-1], float(weights[-1])) for source, weights in learned.items()}


def namespaces() -> Iterator[Namespace]:
    """Yield the namespaces of all sources that the weights are learned on."""
    for pairs in successions():
        asked = [Asked(p.question, p.newer, p.older) if p.replaces else Asked(p.question, p.older) for p in pairs]
        yield Namespace("successions", [*(pair.older for pair in pairs), *(pair.newer for pair in pairs)], asked)
    yield from _messy_namespaces()
    for language in (*LANGUAGES, *MORE_LANGUAGES):
        half = paraphrases(language, locked=False)
        updates = [Asked(question, newer, older) for older, newer, question in half.updates]
        said = [*(older for older, _, _ in half.updates), *(newer for _, newer, _ in half.updates)]
        yield Namespace("paraphrases", said, updates)
        yield from _fact_namespaces("paraphrases", [(fact, [question]) for fact, question in half.facts])
    yield from _fact_namespaces("answered", answered_statements())
    for part in WORLDS:
        for world in worlds(locked=False, part=part):
            said = world.statements
            answers = [Asked(question, said[at]) for question, at in world.answered]
            yield Namespace(
                "worlds", said, answers + [Asked(q, said[new], said[old]) for q, new, old in world.replaced]
            )
    for life in changed_lives():
        some = [pair for pair, locked in life if not locked]
        asked = [Asked(p.question, p.newer, p.older) if p.replaces else Asked(p.question, p.older) for p in some]
        yield Namespace("changed lives", [*(pair.older for pair in some), *(pair.newer for pair in some)], asked)


def _messy_namespaces() -> Iterator[Namespace]:
    pairs = [pair for name in ("lives_open", "open") for pair in messy_pairs(name) if pair.question]
    random.Random(_SEED).shuffle(pairs)
    for start in range(0, len(pairs), _TOGETHER):
        some = pairs[start : start + _TOGETHER]
        asked = [
            Asked(p.question or "", p.second, p.first) if p.is_update else Asked(p.question or "", p.first)
            for p in some
        ]
        yield Namespace("messy", [*(pair.first for pair in some), *(pair.second for pair in some)], asked)


def _fact_namespaces(source: str, facts: Sequence[tuple[str, list[str]]]) -> Iterator[Namespace]:
    for start in range(0, len(facts), _TOGETHER):
        some = facts[start : start + _TOGETHER]
        asked = [Asked(question, fact) for fact, questions in some for question in questions]
        yield Namespace(source, [fact for fact, _ in some], asked)


async def _compare(namespace: Namespace, embedder: Embedder, changes: ToldChanges) -> list[Example]:
    calibration = calibration_for(embedder.name)
    common, kinds = calibration.common_part, calibration.answer_kinds
    if common is None or kinds is None:
        raise ValueError(f"{embedder.name} has no common part")
    directions = common.directions_of(np.stack(await embedder.embed_documents(namespace.statements)))
    told_changes = changes.log_odds(directions).tolist()
    found = []
    for asked in namespace.asked:
        vector = await embedder.embed_query(asked.question)
        cosines = directions @ calibration.query_direction(vector)
        told, _ = kinds.told_by(directions, calibration.asked_kind(vector))
        floor = calibration.query_floor(vector, len(directions))
        best = np.argsort(-cosines, kind="stable")[:NEWER_CANDIDATES].tolist()
        likeness = directions[best] @ directions[best].T
        usual = usual_likeness(likeness, best)
        for old, older in enumerate(best):
            for new, newer in enumerate(best):
                texts = namespace.statements[older], namespace.statements[newer]
                replaces = texts == (asked.replaced, asked.right)
                if new > old and newer > older and (replaces or texts[0] == asked.right):
                    similarity = calibration.similarity(calibration.vector_weight * float(cosines[newer] - floor))
                    pair = StatementPair(
                        *texts,
                        likeness=float(likeness[old, new]),
                        usual_likeness=usual[new],
                        older_cosine=float(cosines[older]),
                        newer_cosine=float(cosines[newer]),
                        newer_similarity=similarity,
                        older_change=told_changes[older],
                        newer_change=told_changes[newer],
                        kind_log_odds=told[newer],
                        older_kind_log_odds=told[older],
                        about_asker=asks_about_asker(asked.question),
                    )
                    found.append(
                        Example(namespace.source, (*measures(pair), *kind_marks(pair), *word_marks(pair)), replaces)
                    )
    return found


if __name__ == "__main__":
    main()
