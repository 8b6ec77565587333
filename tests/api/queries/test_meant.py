"""What forgetting by meaning takes: `tests/data/forgetting` says which memories each description means.

The locked half was written before the rule that stands, and judged twice.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from api.queries.search import matching
from tests.pipeline.index.world import World

pytestmark = pytest.mark.anyio
TOLD: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "forgetting" / "queries.json").read_text(encoding="utf-8")
)


async def _remembering(world: World, memories: Iterable[str]) -> None:
    await world.document("d", "Notes about many things.")
    for at, text in enumerate(memories):
        await world.memory(f"m{at}", text, "d")


async def _meant(world: World, query: str) -> Sequence[str]:
    rows = await matching(world.cache, world.embedder, world.store.memories, world.namespace(), query)
    return [row.text for row in rows]


@pytest.mark.parametrize(("half", "right", "wrong"), [("open", 43, 1), ("locked", 14, 1)])
async def test_what_is_meant_is_found_and_hardly_anything_else(
    world: World, half: str, right: int, wrong: int
) -> None:
    await _remembering(world, TOLD["memories"])
    found, others = 0, 0
    for one in TOLD[half]:
        meant = set(await _meant(world, one["query"]))
        found += len(meant & set(one["forgets"]))
        others += len(meant - set(one["forgets"]))
    assert found >= right
    assert others <= wrong


async def test_in_scripts_without_spaces_what_only_ends_alike_stays(world: World) -> None:
    await _remembering(
        world, ["User: 東京に住んでいます", "User: 犬を飼っています", "User: コーヒーが好きです"]
    )
    assert await _meant(world, "東京に住んでいます") == ["User: 東京に住んでいます"]
    assert await _meant(world, "猫が好きです") == []


async def test_what_is_mine_may_be_spelled_otherwise(world: World) -> None:
    await _remembering(world, ["User's favorite color is now green"])
    assert await _meant(world, "my favourite colour") == ["User's favorite color is now green"]


async def test_what_is_mine_is_not_my_sisters(world: World) -> None:
    await _remembering(world, ["User lives in Lisbon", "User's sister Clara lives in Rome"])
    assert await _meant(world, "where I live") == ["User lives in Lisbon"]
    assert await _meant(world, "where my sister lives") == ["User's sister Clara lives in Rome"]
