"""`python -m bench.statement_meanings`: learn what the meanings of two statements say of which one answers a question.

Writes `e5_statement_meanings.npy` and `e5_with_encoder_statement_meanings.npy` in `pipeline/index/ranking/learned`, and
prints the weights of what is weighed beside them in `newer_statement`. An example is a pair of statements that a search
compares because the newer one ranks lower: the newer one answers, or the older one does. Learned on open halves.
"""

import argparse
import asyncio
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from bench.datasets.messy_pairs import PairSet, messy_pairs
from bench.datasets.mixed_facts import mixed_facts
from bench.datasets.near_questions import near_questions
from bench.datasets.successions import Succession, successions
from bench.learned_files import common_part_of
from bench.logistic_regression import fit_logistic
from bench.newer_statement import Asked, Namespace, namespaces
from bench.ranking import KeptVectors, remembered
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.calibration import learned_file
from pipeline.index.ranking.learned.newer_statement import StatementPair, objections, plain_marks
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.models import open_embedder
from pipeline.rows import ChunkColumns, MemoryColumns

_TOGETHER = 8
"""Pairs in a namespace, so that a question meets statements about something else as well."""
_MAIN_DIRECTIONS = 100
"""Directions in which the statements differ most, on which meanings are weighed."""
_MEANING_SCALE = 0.6
"""How large a main direction's part is beside the other marks: the smaller, the less is learned from meanings."""
_RIDGE = 60.0
_OBJECTIONS = 8
"""Number of `objections`."""
_LARGE_SET_POWER = 0.25
"""What an example counts falls with the number of its set by this power: sets of messages outweigh none."""


@dataclass(frozen=True, slots=True)
class Example:
    """A pair of statements that a search compared, and whether the newer one answers."""

    embedder: str
    source: str
    question: str
    pair: StatementPair
    replaces: bool


def main() -> None:
    """Learn, print the weights, and write the files."""
    options = argparse.ArgumentParser(prog="python -m bench.statement_meanings", description=__doc__)
    options.add_argument("--vectors", type=Path, default=Path(tempfile.gettempdir()), help="folder that keeps vectors")
    folder = options.parse_args().vectors
    examples: list[Example] = []
    directions: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name in ("e5", "e5-encoder"):
        kept = KeptVectors(open_embedder(name), folder / f"recollect-bench-{name}.npz")
        found, directions_of_texts = asyncio.run(_examples(kept))
        examples += found
        directions |= directions_of_texts
    marks = np.array([(*plain_marks(each.pair), *objections(each.pair)) for each in examples])
    mean, deviation = marks.mean(axis=0), marks.std(axis=0)
    columns = [np.ones((len(examples), 1)), (marks - mean) / deviation]
    bases = {name: _main_directions(texts) for name, texts in directions.items()}
    columns += [
        np.stack(
            [
                texts[getattr(each.pair, side)] @ bases[name] if each.embedder == name else np.zeros(_MAIN_DIRECTIONS)
                for each in examples
            ]
        )
        for name, texts in directions.items()
        for side in ("older", "newer")
    ]
    truth = np.array([each.replaces for each in examples], float)
    weights = fit_logistic(np.hstack(columns), truth, count_examples(examples), ridge=_RIDGE)
    _print_weights(weights[: 1 + marks.shape[1]], mean, deviation)
    sides = weights[1 + marks.shape[1] :].reshape(len(bases), 2, _MAIN_DIRECTIONS)
    for (name, basis), learned in zip(bases.items(), sides, strict=True):
        np.save(learned_file(name, "statement_meanings"), (learned @ basis.T).astype(np.float16))


def _print_weights(weights: NDArray[np.float64], mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> None:
    plain = weights[1:] / deviation
    print(f"bias={weights[0] - float(plain @ mean):.2f},")
    for name, part in (("plain_marks", plain[:-_OBJECTIONS]), ("objections", plain[-_OBJECTIONS:])):
        print(f"{name}=({', '.join(f'{weight:.2f}' for weight in part)}),")


def _main_directions(texts: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a column for each direction in which these differ most, so scaled that they differ alike in all."""
    rows = np.stack(list(texts.values()))
    _, vectors = np.linalg.eigh(rows.T @ rows)
    main = vectors[:, ::-1][:, :_MAIN_DIRECTIONS]
    scaled: NDArray[np.float64] = main * (_MEANING_SCALE / np.std(rows @ main, axis=0))
    return scaled


def count_examples(examples: Sequence[Example]) -> NDArray[np.float64]:
    """Return what each example counts: those of a question and an answer one together, less in a large set."""
    alike = Counter((each.embedder, each.question, each.replaces) for each in examples)
    shares = [1.0 / alike[each.embedder, each.question, each.replaces] for each in examples]
    totals: defaultdict[str, float] = defaultdict(float)
    for each, share in zip(examples, shares, strict=True):
        totals[each.source] += share
    counts = np.array(
        [share * totals[each.source] ** -_LARGE_SET_POWER for each, share in zip(examples, shares, strict=True)]
    )
    scaled: NDArray[np.float64] = counts * (len(examples) / counts.sum())
    return scaled


async def _examples(embedder: KeptVectors) -> tuple[list[Example], dict[str, dict[str, NDArray[np.float64]]]]:
    """Return the examples of an embedder, and by its name the direction of each text."""
    examples = await compared_pairs(_namespaces(), embedder)
    texts = list(dict.fromkeys(text for each in examples for text in (each.pair.older, each.pair.newer)))
    common = common_part_of(embedder)
    directions = common.directions_of(np.stack(await embedder.embed_documents(texts))).astype(np.float64)
    return examples, {embedder.name: dict(zip(texts, directions, strict=True))}


async def compared_pairs(namespaces: Iterable[Namespace], embedder: KeptVectors) -> list[Example]:
    """Return the pairs that searches compare, of which one belongs to what answers."""
    examples: list[Example] = []
    for namespace in namespaces:
        index = await remembered(namespace.statements, 0, embedder)
        columns: list[ChunkColumns | MemoryColumns] = [view.segment.columns for view in index.memories.snapshot()]
        columns += [view.segment.columns for view in index.chunks.snapshot()]
        owners = {
            text: int(id_.partition("/")[0]) for rows in columns for id_, text in zip(rows.ids, rows.texts, strict=True)
        }
        for asked in namespace.asked:
            pairs: list[StatementPair] = []
            query = await analyze_query(index, embedder, asked.question)
            await index.search(replace(query, answers_instead=partial(_record, pairs)), SearchRequest())
            right = namespace.statements.index(asked.right)
            question = f"{namespace.source} {asked.question} {asked.right}"
            for pair in pairs:
                if (owners[pair.newer] == right) != (owners[pair.older] == right):
                    replaces = owners[pair.newer] == right
                    examples.append(Example(embedder.name, namespace.source, question, pair, replaces))
    embedder.save()
    return examples


def _record(pairs: list[StatementPair], pair: StatementPair) -> bool:
    pairs.append(pair)
    return False


def _namespaces() -> Iterator[Namespace]:
    yield from namespaces()
    for name in get_args(PairSet):
        if name.endswith("open"):
            for said in messy_pairs(name):
                if said.question is not None:
                    right = said.second if said.second_answers else said.first
                    yield Namespace(name, [said.first, said.second], [Asked(said.question, right)])
    for section in successions(hurried=True):
        for pair in section:
            yield _together("hurried", [pair])
        for start in range(0, len(section), _TOGETHER):
            yield _together("hurried together", section[start : start + _TOGETHER])
    facts, _ = mixed_facts(locked=False)
    yield Namespace("mixed", [fact for fact, _ in facts], [Asked(q, fact) for fact, asked in facts for q in asked])
    for part in ("", "several"):
        for person in near_questions(locked=False, part=part):
            answered = [Asked(question, person.facts[at]) for question, at in person.answered]
            yield Namespace("near", person.facts, answered)


def _together(source: str, pairs: Sequence[Succession]) -> Namespace:
    said = dict.fromkeys([*(pair.older for pair in pairs), *(pair.newer for pair in pairs)])
    return Namespace(source, list(said), [Asked(p.question, p.newer if p.replaces else p.older) for p in pairs])


if __name__ == "__main__":
    main()
