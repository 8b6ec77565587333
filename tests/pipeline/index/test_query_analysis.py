"""A query's words in a namespace: forms in other languages, slips of the pen, and frames around what is looked for."""

from collections.abc import Collection, Sequence

import pytest

from bench.recall import build_text_index
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.query_analysis import analyze_query, without_frame
from pipeline.index.ranking.collection_statistics import CollectionStatistics
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.models import NullEmbedder
from pipeline.text.analyzer import term_hashes

pytestmark = pytest.mark.anyio


async def _word_scores(question: str, texts: Sequence[str]) -> dict[str, float]:
    """The scores by words of the texts that have any of the question's."""
    index, model = await build_text_index(texts, NullEmbedder()), NullEmbedder()
    hits = await index.search(await analyze_query(index, model, question), SearchRequest(threshold=0.0, explain=True))
    return {hit.text: hit.explanation["bm25"] for hit in hits if hit.explanation and hit.explanation.get("bm25")}


async def test_a_name_is_found_in_texts_of_all_languages_whose_stemmers_cut_it_in_other_ways() -> None:
    texts = ("The fine in Aveiro is paid at once.", "A Câmara de Aveiro aceita que não paguem a multa.")
    assert set(await _word_scores("parking in Aveiro", texts)) == set(texts)


@pytest.mark.parametrize(("question", "right"), [("adress of Noel", 0), ("comand to restart", 1), ("calender", 2)])
async def test_a_misspelled_word_stands_for_the_one_that_the_namespace_has(question: str, right: int) -> None:
    texts = ("The address is by the lake.", "The command needs a reboot.", "The calendar hangs in the hall.")
    assert list(await _word_scores(question, texts)) == [texts[right]]


async def test_terms_are_counted_once_and_spellings_once_where_a_word_is_misspelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index, model = await build_text_index(("The address is by the lake.",), NullEmbedder()), NullEmbedder()
    counted: list[Collection[int]] = []

    async def count(terms: Collection[int]) -> CollectionStatistics:
        counted.append(terms)
        return await NamespaceIndex.collect_statistics(index, terms)

    monkeypatch.setattr(index, "collect_statistics", count)
    query = await analyze_query(index, model, "adress by the lake")
    _, spellings = counted
    assert set(term_hashes("address")) <= set(spellings)
    assert min(query.term_weights.weights[term] for term in term_hashes("address") + term_hashes("lake")) > 0


@pytest.mark.parametrize("question", ["whether Noel came", "catling", "Wasser"])
async def test_a_word_that_begins_otherwise_or_is_too_short_is_no_misspelled_one(question: str) -> None:
    assert not await _word_scores(question, ("The feather is light.", "Rattling doors", "water"))


@pytest.mark.parametrize(
    ("question", "looked_for"),
    [
        ("Tell me about the boiler", "the boiler"),
        ("please tell me everything about Skiraum?", "Skiraum?"),
        ("Was weißt du über Frau Vermeulen?", "Frau Vermeulen?"),
        ("Qu'est-ce que tu sais sur le chauffage ?", "le chauffage ?"),
        ("háblame de INV-20391", "INV-20391"),
        ("расскажи про Коломну", "Коломну"),
        ("温泉旅館について教えてください", "温泉旅館"),
        ("스키장에 대해 알려줘", "스키장"),
    ],
)
def test_a_frame_at_the_beginning_or_end_is_left_out(question: str, looked_for: str) -> None:
    assert without_frame(question) == looked_for


@pytest.mark.parametrize(
    "question", ["What did Anna find?", "Where did I tell her about the move?", "tell me about", "información", ""]
)
def test_other_questions_stay(question: str) -> None:
    assert without_frame(question) == question
