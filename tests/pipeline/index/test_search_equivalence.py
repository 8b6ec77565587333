"""A namespace in memory, the same loaded anew, and the same mapped from files: one answer."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.namespace_index_loader import spill_index
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.models.wordllama_embedder import WordLlamaEmbedder
from schemas.filters import FilterExpression, NumericComparison, SubstringMatch
from tests.support.index_harness import UNLIMITED_BYTES, IndexHarness, force_spilled_segments, open_harness

pytestmark = pytest.mark.anyio

WORDS = st.sampled_from(
    [
        "green",
        "black",
        "tea",
        "coffee",
        "kettle",
        "Kyoto",
        "Oslo",
        "chess",
        "cello",
        "winter",
        "42",
        "猫",
        "東京",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
KEYS = st.sampled_from("abcdefgh")
DocumentBatch = dict[str, tuple[list[str], int]]
DOCUMENT_BATCHES: st.SearchStrategy[DocumentBatch] = st.dictionaries(
    KEYS, st.tuples(st.lists(TEXTS, max_size=3), st.integers(0, 3)), max_size=6
)
FILTERS: tuple[FilterExpression | None, ...] = (
    None,
    NumericComparison(field="n", operator="gte", value=2),
    SubstringMatch(field="s", operator="notContains", value="1"),
)


@dataclass(frozen=True)
class Scenario:
    """History of a namespace, and the searches that follow it."""

    batches: list[DocumentBatch]
    removed: set[str]
    query: str


SCENARIOS = st.builds(
    Scenario, batches=st.lists(DOCUMENT_BATCHES, min_size=1, max_size=3), removed=st.sets(KEYS), query=TEXTS
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=SCENARIOS)
async def test_a_held_and_a_mapped_namespace_give_the_same_answers(
    tmp_path_factory: pytest.TempPathFactory,
    embedder: WordLlamaEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    story: Scenario,
) -> None:
    force_spilled_segments(monkeypatch)
    folder = tmp_path_factory.mktemp("worlds")
    async with open_harness(folder, embedder, UNLIMITED_BYTES) as world:
        await world.open_index()
        await _replay_scenario(world, story)
        held = await world.open_index()
        world.cache._entries.clear()
        loaded = await world.open_index()
        world.cache._entries.clear()
        mapped = await world.open_index()
        spill_index(mapped, MmapStore(folder / "index"))
        for expression in FILTERS:
            answers = [await _answer(index, embedder, story.query, expression) for index in (held, loaded, mapped)]
            assert answers[0] == answers[1] == answers[2]


async def _replay_scenario(world: IndexHarness, story: Scenario) -> None:
    for writing in story.batches:
        for key, (passages, number) in writing.items():
            await world.add_document(key, *passages, metadata={"n": number, "s": f"x{number}"})
            for at, text in enumerate(passages):
                await world.add_memory(f"m{key}{at}", text, key, is_latest=at != 1)
        await world.found_ids(story.query)
    for key in story.removed:
        await world.remove_document(key)


async def _answer(
    namespace: NamespaceIndex, embedder: WordLlamaEmbedder, query: str, expression: FilterExpression | None
) -> list[tuple[str, float, str, str, bool]]:
    wanted = SearchRequest(threshold=0.0, limit=100, filter=expression)
    question = await analyze_query(namespace, embedder, query)
    hits = await namespace.search(question, wanted)
    for hit, why in zip(hits, await namespace.search(question, replace(wanted, explain=True)), strict=True):
        assert (why.id, why.raw_score, hit.explanation) == (hit.id, hit.raw_score, None)
        assert why.explanation is not None
        assert sum(why.explanation.values()) == pytest.approx(hit.raw_score, abs=1e-4)
    return [(hit.id, hit.similarity, hit.text, hit.document.id, hit.is_latest) for hit in hits]
