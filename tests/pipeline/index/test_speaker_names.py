"""Speakers of conversations: whose names a question is asked without."""

from collections.abc import Sequence

import pytest

from bench.recall import build_text_index
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.query_analysis import analyze_query
from pipeline.models import NullEmbedder
from pipeline.rows import Vector
from pipeline.text.analyzer import term_hashes

pytestmark = pytest.mark.anyio
CONVERSATION = (
    "Ann: I joined a choir.\nBen: What do you sing?",
    "Ann: Old songs, I love them.",
    "Tom: I run at dawn.\nAnn: I could not, I sleep too badly.",
    "Tom: I start at six.",
    "Tom: I bought Ann's old bicycle.",
)
LIST_OF_FIELDS = ("Place: the hall.", "Place: a barn.", "Place: the quay.", "Place: our yard.")


class _HeardEmbedder(NullEmbedder):
    """An embedder that keeps the questions it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    async def embed_query(self, text: str, term_weight: object = None) -> Vector:
        self.heard.append(text)
        return await super().embed_query(text)


async def _index(texts: Sequence[str]) -> NamespaceIndex:
    return await build_text_index(texts, NullEmbedder())


async def _embedded(question: str, texts: Sequence[str], *, keeps_names: bool = False) -> str:
    """The question as the model reads it."""
    embedder = _HeardEmbedder()
    await analyze_query(await _index(texts), embedder, question, keeps_names=keeps_names)
    (heard,) = embedder.heard
    return heard


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("When did Ann join the choir?", "When did I join the choir?"),
        ("why did ann sell it to tom", "why did I sell it to I"),
        ("What is Tom's sport?", "What is my sport?"),
    ],
)
async def test_the_model_reads_a_question_about_speakers_as_they_would_ask_it(question: str, read: str) -> None:
    assert await _embedded(question, CONVERSATION) == read


@pytest.mark.parametrize(
    "question", ["When did Ida join?", "What did Ann tell me?", "Who is Ann?", "Where does Ann Cooper live?"]
)
async def test_a_question_about_others_or_the_asker_too_is_read_as_it_is(question: str) -> None:
    assert await _embedded(question, CONVERSATION) == question


async def test_the_words_of_a_speakers_name_count_as_before() -> None:
    query = await analyze_query(await _index(CONVERSATION), NullEmbedder(), "When did Ann join the choir?")
    assert set(term_hashes("ann")) <= query.term_weights.weights.keys()
    assert "ann" in query.intent.query_words


async def test_what_is_deleted_is_deleted_of_the_named_speaker() -> None:
    assert await _embedded("Ann's choir", CONVERSATION, keeps_names=True) == "Ann's choir"


async def test_a_field_is_no_speaker_nor_is_who_is_only_spoken_of() -> None:
    index = await _index((*LIST_OF_FIELDS, *("Gus is late again.",) * 4))
    terms = {term: 4 for name in ("place", "gus") for term in term_hashes(name)}
    assert not list(index.speaker_names(terms))


async def test_a_speaker_of_few_passages_tells_them_apart_and_stays() -> None:
    texts = (*CONVERSATION, *(f"Ida: I keep bees, hive {number}." for number in range(100)))
    assert await _embedded("When did Ann join the choir?", texts) == "When did Ann join the choir?"
