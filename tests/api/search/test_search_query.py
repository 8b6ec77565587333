"""Search queries: results, order, similarity."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pipeline.models import NullEmbedder
from pipeline.ports import Embedder, Reranker
from schemas.events import Relation
from schemas.http.v5.search_bodies import SearchBody, SearchResponse, SearchResult
from tests.support.index_harness import NOW, IndexHarness

pytestmark = pytest.mark.anyio


async def _search(
    world: IndexHarness,
    query: str,
    *,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    **body: Any,
) -> SearchResponse:
    asked = SearchBody.model_validate({"query": query, **body})
    return await world.searching(embedder, reranker).answer(world.namespace(), asked)


async def _results(world: IndexHarness, query: str, **body: Any) -> list[SearchResult]:
    return (await _search(world, query, **body)).results


def _ids(results: list[SearchResult]) -> list[str]:
    return [result.id for result in results]


async def _add_household(world: IndexHarness) -> None:
    await world.add_document(
        "d",
        "Alice drinks green tea every morning.",
        "Her brother Tom collects stamps.",
        metadata={"room": "kitchen", "tags": ["a", "b"]},
        title="Home",
        summary="About Alice.",
    )
    await world.add_memory("m", "Alice drinks green tea.", "d", is_inference=True)


async def test_an_empty_namespace_answers_nothing(world: IndexHarness) -> None:
    answer = await _search(world, "tea")
    assert answer.results == []
    assert answer.search_time >= 0


async def test_hybrid_merges_memories_and_chunks_in_one_ranking(world: IndexHarness) -> None:
    await _add_household(world)
    results = await _results(world, "Who drinks green tea?")
    assert set(_ids(results)) == {"m", "d-0"}
    assert [result.similarity for result in results] == sorted((result.similarity for result in results), reverse=True)


async def test_the_mode_says_which_kind_of_results_there_are(world: IndexHarness) -> None:
    await _add_household(world)
    assert _ids(await _results(world, "green tea", searchMode="memories")) == ["m"]
    assert _ids(await _results(world, "green tea", searchMode="chunks")) == ["d-0"]


async def test_a_result_carries_its_text_metadata_and_times(world: IndexHarness) -> None:
    await _add_household(world)
    memory, chunk = sorted(await _results(world, "green tea"), key=lambda result: result.id, reverse=True)
    shown = memory.model_dump(by_alias=True, exclude_unset=True)
    assert shown == {
        "id": "m",
        "memory": "Alice drinks green tea.",
        "metadata": {"room": "kitchen", "tags": ["a", "b"]},
        "similarity": memory.similarity,
        "isLatest": True,
        "isInference": True,
        "system": {"updatedAt": "2026-03-01T12:00:00.000Z", "createdAt": "2026-03-01T12:00:00.000Z"},
    }
    assert chunk.model_dump(by_alias=True, exclude_unset=True)["chunk"] == "Alice drinks green tea every morning."


async def test_documents_are_attached_when_asked_for(world: IndexHarness) -> None:
    await _add_household(world)
    for result in await _results(world, "green tea", include={"documents": True}):
        assert result.included is not None
        assert result.included.model_dump(by_alias=True, exclude_unset=True) == {
            "document": {
                "id": "id-d",
                "title": "Home",
                "type": "text",
                "metadata": {"room": "kitchen", "tags": ["a", "b"]},
                "summary": "About Alice.",
                "system": {"createdAt": "2026-03-01T12:00:00.000Z", "updatedAt": "2026-03-01T12:00:00.000Z"},
            }
        }


async def test_relations_are_attached_to_memories_when_asked_for(world: IndexHarness) -> None:
    await _add_household(world)
    await world.add_memory("old", "Alice drinks black tea.", "d", is_latest=False)
    await world.add_memory(
        "new", "Alice drinks white tea.", "d", version=2, relations=(Relation(kind="updates", target="old"),)
    )
    results = await _results(world, "Alice drinks white tea", include={"related": True})
    related = {result.id: result.included.related for result in results if result.included and result.included.related}
    assert set(related) == {"m", "new"}
    assert related["new"].model_dump(by_alias=True)["parents"] == [
        {
            "id": "old",
            "relation": "updates",
            "version": 1,
            "memory": "Alice drinks black tea.",
            "metadata": {"room": "kitchen", "tags": ["a", "b"]},
            "system": {"updatedAt": "2026-03-01T12:00:00.000Z"},
        }
    ]


async def test_forgotten_memories_come_back_only_when_asked_for_and_are_not_latest(
    world: IndexHarness,
) -> None:
    await _add_household(world)
    await world.change_memory("m", forgotten_at=NOW)
    assert "m" not in _ids(await _results(world, "green tea"))
    results = await _results(world, "green tea", include={"forgotten": True})
    assert {result.id: result.is_latest for result in results} == {"m": False, "d-0": True}


async def test_a_filter_holds_for_every_kind_of_result(world: IndexHarness) -> None:
    await _add_household(world)
    await world.add_document("other", "Bob drinks green tea.", metadata={"room": "office"})
    office = {"field": "room", "operator": "eq", "value": "office"}
    assert _ids(await _results(world, "green tea", filter=office)) == ["other-0"]


async def test_the_threshold_cuts(world: IndexHarness) -> None:
    await _add_household(world)
    assert len(await _results(world, "green tea", threshold=0)) == 3
    assert await _results(world, "green tea", threshold=1) == []


@pytest.mark.parametrize("rerank", ["none", "order", "aggregate"])
async def test_questions_about_something_else_find_nothing(world: IndexHarness, rerank: str) -> None:
    await _add_household(world)
    assert await _results(world, "reentry heating of blunt bodies", rerank=rerank) == []


async def test_reordering_brings_forward_what_stands_close_together(world: IndexHarness) -> None:
    await world.add_document("far", "The board of the school met in the house of the green party for cheese.")
    await world.add_document("near", "They met at the school board about other matters of the old house.")
    results = await _results(world, "school board", rerank="order")
    assert _ids(results)[0] == "near-0"
    similarities = [result.similarity for result in results]
    assert similarities == sorted(similarities, reverse=True)


async def test_aggregating_joins_neighbours_and_keeps_one_of_what_says_the_same(world: IndexHarness) -> None:
    await world.add_document(
        "d", "Alice drinks green tea. ", "Green tea Alice drinks. ", "Green is the cup. ", "Unrelated words."
    )
    await world.add_memory("m1", "Alice drinks green tea", "d")
    await world.add_memory("m2", "Alice really drinks green tea daily", "d")
    await world.add_memory("m3", "Alice does not drink green tea", "d")
    results = await _results(world, "Alice drinks green tea", rerank="aggregate")
    chunks = [result.chunk for result in results if result.id.startswith("d-")]
    assert chunks[0] == "Alice drinks green tea. Green tea Alice drinks. "
    assert not any("Unrelated" in chunk for chunk in chunks if chunk is not None)
    assert "m3" in _ids(results)
    assert len({"m1", "m2"} & set(_ids(results))) == 1


async def test_aggregating_leaves_out_a_memory_that_a_better_passage_says(world: IndexHarness) -> None:
    await world.add_document("d", "Alice drinks green tea every morning in June.")
    await world.add_document("e", "Bread is in the cupboard.")
    await world.add_memory("there", "Alice drinks tea in June", "d")
    await world.add_memory("elsewhere", "Alice drinks green tea every morning in June", "e")
    await world.add_memory("denied", "Alice drinks no tea in June", "d")
    query = "green tea every morning in June"
    plain, joined = [
        _ids(await _results(world, query, rerank=rerank, threshold=0)) for rerank in ("order", "aggregate")
    ]
    assert plain.index("d-0") < plain.index("there")
    assert {"there", "elsewhere", "denied"} - {*joined} == {"there"}


async def test_a_rewritten_query_loses_its_wrappings(world: IndexHarness) -> None:
    await _add_household(world)
    plain = await _results(world, "green tea")
    wrapped = await _results(
        world, "Hello, can you please tell me everything you know about green tea?", rewriteQuery=True
    )
    assert [(result.id, result.similarity) for result in wrapped] == [
        (result.id, result.similarity) for result in plain
    ]


async def test_a_text_instead_of_a_question_is_not_rewritten(world: IndexHarness) -> None:
    await _add_household(world)
    text = "Hello, can you please tell me who drinks green tea? " * 25
    answers = [await _results(world, text, threshold=0, rewriteQuery=again) for again in (False, True)]
    assert answers[0] == answers[1]
    assert answers[0]


async def test_without_an_embedder_words_alone_find(world: IndexHarness) -> None:
    await _add_household(world)
    for rerank in ("none", "order", "aggregate"):
        results = await _results(world, "green tea", embedder=NullEmbedder(), rerank=rerank)
        assert set(_ids(results)) == {"m", "d-0"}


async def test_strange_queries_answer(world: IndexHarness) -> None:
    await _add_household(world)
    for query in ["?", "what is it", "x" * 50_000, "tea " * 12_500, "\u0007", "猫"]:
        for rerank in ("none", "aggregate"):
            await _search(world, query, rerank=rerank, rewriteQuery=True)


async def test_forgetting_by_meaning_takes_only_what_is_meant(world: IndexHarness) -> None:
    await _add_household(world)
    await world.add_memory("cat", "Alice has a cat called Miso.", "d")
    rows = await world.searching().find_meant(world.namespace(), "Alice's cat Miso")
    assert [row.id for row in rows] == ["cat"]
    assert await world.searching().find_meant(world.namespace(), "gas turbines") == []


@dataclass
class ReversingReranker:
    """A reranker that turns everything around, or says nothing."""

    answers: bool = True
    texts_seen: list[str] = field(default_factory=list)

    async def rerank(self, query: str, texts: Sequence[str]) -> list[int] | None:
        assert query == "green tea"
        self.texts_seen = list(texts)
        return list(range(len(texts)))[::-1] if self.answers else None


@pytest.mark.parametrize("rerank", ["order", "aggregate"])
async def test_an_endpoint_orders_what_is_reranked_and_leaves_the_scale(world: IndexHarness, rerank: str) -> None:
    await world.add_document("a", "Alice drinks green tea.")
    await world.add_document("b", "Green is a colour.")
    await world.add_document("c", "There is tea in Kyoto.")
    offline = (await _search(world, "green tea", rerank=rerank, threshold=0.0)).results
    mind = ReversingReranker()
    found = (await _search(world, "green tea", reranker=mind, rerank=rerank, threshold=0.0)).results
    assert mind.texts_seen == [result.chunk for result in offline]
    assert [result.id for result in found] == [result.id for result in offline][::-1]
    assert [result.similarity for result in found] == [result.similarity for result in offline]
    silent = ReversingReranker(answers=False)
    again = (await _search(world, "green tea", reranker=silent, rerank=rerank, threshold=0.0)).results
    assert [result.id for result in again] == [result.id for result in offline]
    await _search(world, "green tea", reranker=(unasked := ReversingReranker()), threshold=0.0)
    assert unasked.texts_seen == []
