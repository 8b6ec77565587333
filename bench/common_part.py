"""`python -m bench.common_part`: make what the embedders' vectors have in common anew, as three files.

`e5_common_part.npy` and `e5_with_encoder_common_part.npy` in `pipeline/index/segments`, and
`pipeline/models/sentence_encoder/encoder_projection.npy`, from the open half of `bench.datasets.paraphrases` and the
guides in `--data`: the means of statements and of questions and the mean direction of everyday statements in twelve
languages, and the directions in which the means of 22 languages differ.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.datasets.paraphrases import LANGUAGES, MORE_LANGUAGES, paraphrases
from bench.paraphrases import GUIDES, guide_sections
from bench.recall import DATA
from pipeline.index.segments.common_part import E5_FILE, E5_WITH_ENCODER_FILE, CommonPart
from pipeline.models.e5.e5_embedder import E5Embedder
from pipeline.models.e5.unigram_tokenizer import WORD_START
from pipeline.models.e5_with_encoder_embedder import E5WithEncoderEmbedder
from pipeline.models.sentence_encoder.encoder_model import PART_DIMENSIONS, PROJECTION_FILE, EncoderModel
from pipeline.models.sentence_encoder.encoder_weights import EncoderWeights, locate_encoder

_DIRECTIONS = len(LANGUAGES) + len(MORE_LANGUAGES) - 1
_FACTS_SHARE, _QUESTIONS_SHARE = 0.8, 0.5
"""Shares of everyday facts and questions in the means; the rest is sections and headings of guides."""
_WORDS, _MIN_WORD_CHARS = 8_000, 4
Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Awaitable[Vectors]]


def main() -> None:
    """Write the files."""
    options = argparse.ArgumentParser(prog="python -m bench.common_part", description=__doc__)
    options.add_argument("--data", type=Path, default=DATA, help="folder of the guides")
    asyncio.run(_write(options.parse_args().data / "languages"))


async def _write(guides: Path) -> None:
    weights = EncoderWeights(locate_encoder())
    embedder, encoder = E5Embedder.from_package(), EncoderModel(weights)

    async def statements(texts: Sequence[str]) -> Vectors:
        return np.array(await embedder.embed_documents(texts))

    async def questions(texts: Sequence[str]) -> Vectors:
        return np.array([await embedder.embed_query(text) for text in texts])

    async def encoded(texts: Sequence[str]) -> Vectors:
        return np.array([encoder.encode(text)[0] for text in texts])

    async def joined(texts: Sequence[str]) -> Vectors:
        return np.array(await E5WithEncoderEmbedder.from_package().embed_documents(texts))

    common = (await _embed_samples(guides, statements, questions)).common_part()
    _save(E5_FILE, _rows(common))
    words = _sampled_words(weights.vocabulary.pieces)
    projection = _projection(encoder, words, await _embed_samples(guides, encoded, encoded))
    _save(PROJECTION_FILE, projection.astype(np.float16))
    facts = [await joined([fact for fact, _ in half]) for half in _open_facts(LANGUAGES)]
    _save(E5_WITH_ENCODER_FILE, _rows(_padded(common, np.concatenate(facts))))


def _save(path: Path, numbers: NDArray[np.floating]) -> None:
    np.save(path, numbers)
    print(f"{path}: {numbers.shape}")


def _rows(common: CommonPart) -> Vectors:
    return np.stack([common.document_mean, common.query_mean, common.everyday, *common.directions])


def _padded(common: CommonPart, facts: Vectors) -> CommonPart:
    """e5's common part for vectors with a part of the encoder, which has none; everyday statements are both's."""
    document_mean, query_mean, *directions = np.pad(
        [common.document_mean, common.query_mean, *common.directions], [(0, 0), (0, PART_DIMENSIONS)]
    )
    padded = CommonPart(document_mean, query_mean, query_mean, np.array(directions))
    return replace(padded, everyday=padded.directions_of(facts).mean(axis=0))


@dataclass(frozen=True, slots=True)
class _Samples:
    """Vectors of facts and questions in twelve languages and ten more, and of guides' sections and headings."""

    facts: list[Vectors]
    questions: list[Vectors]
    more_facts: list[Vectors]
    more_questions: list[Vectors]
    sections: list[Vectors]
    headings: list[Vectors]

    def common_part(self) -> CommonPart:
        """The means of statements and questions, everyday statements, and the directions of languages."""
        facts, questions = _means(self.facts), _means(self.questions)
        differences = np.concatenate(
            [
                facts - facts.mean(axis=0),
                questions - questions.mean(axis=0),
                _means(self.more_facts) - _mean_of_first(self.facts, len(self.more_facts[0])),
                _means(self.more_questions) - _mean_of_first(self.questions, len(self.more_questions[0])),
            ]
        )
        directions = np.linalg.svd(differences, full_matrices=False)[2][:_DIRECTIONS].astype(np.float32)
        statement_mean = _mixed(facts, _means(self.sections), _FACTS_SHARE)
        question_mean = _mixed(questions, _means(self.headings), _QUESTIONS_SHARE)
        plain = CommonPart(statement_mean, question_mean, question_mean, directions)
        everyday = plain.directions_of(np.concatenate(self.facts)).mean(axis=0)
        return CommonPart(statement_mean, question_mean, everyday, directions)


def _projection(encoder: EncoderModel, words: Sequence[str], samples: _Samples) -> Vectors:
    """The directions in which words differ most without the common part; in the last columns, both means in them.

    Words of its whole vocabulary: directions chosen on our own facts kept four fifths of what differs between these,
    and about half of what differs between others.
    """
    common = samples.common_part()
    vectors = np.array([encoder.encode(word)[0] for word in words])
    rest = CommonPart(vectors.mean(axis=0), common.query_mean, common.query_mean, common.directions)
    principal = np.linalg.svd(rest.directions_of(vectors), full_matrices=False)[2][:PART_DIMENSIONS]
    matrix = principal - (principal @ common.directions.T) @ common.directions
    means = np.stack([matrix @ common.document_mean, matrix @ common.query_mean], axis=1)
    projection: Vectors = np.concatenate([matrix, means], axis=1)
    return projection


def _sampled_words(pieces: Iterable[str]) -> list[str]:
    """Words of a vocabulary, in all its languages."""
    words = [piece[1:] for piece in pieces if piece.startswith(WORD_START) and piece[1:].isalpha()]
    words = [word for word in words if len(word) >= _MIN_WORD_CHARS]
    return [words[at] for at in np.random.default_rng(1).choice(len(words), _WORDS, replace=False)]


async def _embed_samples(guides: Path, statements: Embed, questions: Embed) -> _Samples:
    halves, more = _open_facts(LANGUAGES), _open_facts(MORE_LANGUAGES)
    sections = [guide_sections(guides / folder) for folder in GUIDES.values()]
    return _Samples(
        facts=[await statements([fact for fact, _ in half]) for half in halves],
        questions=[await questions([question for _, question in half]) for half in halves],
        more_facts=[await statements([fact for fact, _ in half]) for half in more],
        more_questions=[await questions([question for _, question in half]) for half in more],
        sections=[await statements([body for _, body in pairs]) for pairs in sections],
        headings=[await questions([heading for heading, _ in pairs]) for pairs in sections],
    )


def _open_facts(languages: Sequence[str]) -> list[list[tuple[str, str]]]:
    return [paraphrases(language, locked=False).facts for language in languages]


def _means(languages: Sequence[Vectors]) -> Vectors:
    """The mean vector of each language."""
    return np.array([own.mean(axis=0) for own in languages])


def _mixed(everyday: Vectors, guides: Vectors, share: float) -> Vectors:
    """The mean over languages of everyday texts and of guides, by the share of the first."""
    mixed: Vectors = share * everyday.mean(axis=0) + (1 - share) * guides.mean(axis=0)
    return mixed.astype(np.float32)


def _mean_of_first(languages: Sequence[Vectors], count: int) -> Vectors:
    """The mean of the first texts of each language: those that further languages have, too."""
    mean: Vectors = np.mean([own[:count] for own in languages], axis=(0, 1))
    return mean


if __name__ == "__main__":
    main()
