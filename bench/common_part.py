"""`python -m bench.common_part`: make `pipeline/index/segments/e5_common_part.npy` anew.

From the open half of `bench.datasets.paraphrases` and the guides in `--data`: the means of statements and of
questions and the mean direction of everyday statements in twelve languages, and the directions in which the means
of 22 languages differ.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, paraphrases
from bench.paraphrases import GUIDES, guide_sections
from bench.recall import DATA
from pipeline.index.segments.common_part import E5_FILE, CommonPart
from pipeline.models.e5.e5_embedder import E5Embedder

_DIRECTIONS = len(LANGUAGES) + len(MORE_LANGUAGES) - 1
_FACTS_SHARE, _QUESTIONS_SHARE = 0.8, 0.5
"""Shares of everyday facts and questions in the means; the rest is sections and headings of guides."""


def main() -> None:
    """Write the file."""
    options = argparse.ArgumentParser(prog="python -m bench.common_part", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the guides")
    common = asyncio.run(_common_part(options.parse_args().data / "languages"))
    np.save(E5_FILE, common)
    print(f"{E5_FILE}: {common.shape}")


async def _common_part(guides: Path) -> NDArray[np.float32]:
    embedder = E5Embedder.from_package()

    async def documents(texts: Sequence[str]) -> NDArray[np.float32]:
        mean: NDArray[np.float32] = np.mean(await embedder.embed_documents(texts), axis=0)
        return mean

    async def queries(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([await embedder.embed_query(text) for text in texts])

    halves, more = (
        [paraphrases(language, locked=False).facts for language in languages]
        for languages in (LANGUAGES, MORE_LANGUAGES)
    )
    sections = [guide_sections(guides / folder) for folder in GUIDES.values()]
    vectors = [np.array(await embedder.embed_documents([fact for fact, _ in half])) for half in halves]
    facts = np.array([own.mean(axis=0) for own in vectors])
    asked = [await queries([question for _, question in half]) for half in halves]
    questions = np.array([own.mean(axis=0) for own in asked])
    bodies = np.mean([await documents([body for _, body in pairs]) for pairs in sections], axis=0)
    headings = np.mean([(await queries([heading for heading, _ in pairs])).mean(axis=0) for pairs in sections], axis=0)
    more_facts = np.array([await documents([fact for fact, _ in half]) for half in more])
    more_questions = np.array([(await queries([question for _, question in half])).mean(axis=0) for half in more])
    differences = np.concatenate(
        [
            facts - facts.mean(axis=0),
            questions - questions.mean(axis=0),
            more_facts - _mean_of_first(vectors, len(more[0])),
            more_questions - _mean_of_first(asked, len(more[0])),
        ]
    )
    directions = np.linalg.svd(differences, full_matrices=False)[2][:_DIRECTIONS]
    document_mean = _FACTS_SHARE * facts.mean(axis=0) + (1 - _FACTS_SHARE) * bodies
    query_mean = _QUESTIONS_SHARE * questions.mean(axis=0) + (1 - _QUESTIONS_SHARE) * headings
    everyday = CommonPart(document_mean, query_mean, query_mean, directions).directions_of(np.concatenate(vectors))
    return np.concatenate([[document_mean], [query_mean], [everyday.mean(axis=0)], directions]).astype(np.float32)


def _mean_of_first(languages: Sequence[NDArray[np.float32]], count: int) -> NDArray[np.float32]:
    """The mean of the first texts of each language: those that further languages have, too."""
    mean: NDArray[np.float32] = np.mean([own[:count] for own in languages], axis=(0, 1))
    return mean


if __name__ == "__main__":
    main()
