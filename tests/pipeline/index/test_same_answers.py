"""A namespace in memory, the same loaded anew, and the same mapped from files: one answer."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.index.asking import ask
from pipeline.index.hits import Wanted
from pipeline.index.loading import shelved
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.shelf import Shelf
from pipeline.inference.wordllama import WordLlamaEmbedder
from schemas.filters import Compare, Contains, FilterExpression
from tests.pipeline.index.world import EVERYTHING, World, opened, with_small_segments

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
Writing = dict[str, tuple[list[str], int]]
WRITINGS: st.SearchStrategy[Writing] = st.dictionaries(
    KEYS, st.tuples(st.lists(TEXTS, max_size=3), st.integers(0, 3)), max_size=6
)
FILTERS: tuple[FilterExpression | None, ...] = (
    None,
    Compare(field="n", operator="gte", value=2),
    Contains(field="s", operator="notContains", value="1"),
)


@dataclass(frozen=True)
class Story:
    """What happened in a namespace, and what is asked afterwards."""

    writings: list[Writing]
    removed: set[str]
    query: str


STORIES = st.builds(
    Story, writings=st.lists(WRITINGS, min_size=1, max_size=3), removed=st.sets(KEYS), query=TEXTS
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=STORIES)
async def test_a_held_and_a_mapped_namespace_give_the_same_answers(
    tmp_path_factory: pytest.TempPathFactory,
    embedder: WordLlamaEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    story: Story,
) -> None:
    with_small_segments(monkeypatch)
    folder = tmp_path_factory.mktemp("worlds")
    async with opened(folder, embedder, EVERYTHING) as world:
        await world.open()
        await _play(world, story)
        held = await world.open()
        world.cache._entries.clear()
        loaded = await world.open()
        world.cache._entries.clear()
        mapped = await world.open()
        shelved(mapped, Shelf(folder / "index"))
        for expression in FILTERS:
            answers = [
                await _answer(one, embedder, story.query, expression) for one in (held, loaded, mapped)
            ]
            assert answers[0] == answers[1] == answers[2]


async def _play(world: World, story: Story) -> None:
    for writing in story.writings:
        for key, (passages, number) in writing.items():
            await world.document(key, *passages, metadata={"n": number, "s": f"x{number}"})
            for at, text in enumerate(passages):
                await world.memory(f"m{key}{at}", text, key, is_latest=at != 1)
        await world.found(story.query)
    for key in story.removed:
        await world.remove_document(key)


async def _answer(
    namespace: NamespaceIndex, embedder: WordLlamaEmbedder, query: str, expression: FilterExpression | None
) -> list[tuple[str, float, str, str, bool]]:
    wanted = Wanted(threshold=0.0, limit=100, filter=expression)
    question = await ask(namespace, embedder, query)
    hits = await namespace.search(question, wanted)
    for hit, why in zip(hits, await namespace.search(question, replace(wanted, explained=True)), strict=True):
        assert (why.id, why.raw, hit.gave) == (hit.id, hit.raw, None)
        assert why.gave is not None
        assert sum(why.gave.values()) == pytest.approx(hit.raw, abs=1e-4)
    return [(hit.id, hit.similarity, hit.text, hit.document.id, hit.is_latest) for hit in hits]
