"""Why a document is not among the results: each cause, told for what it is."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from api.explain import absence_explainer
from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio
BOTTLES = "The lighthouse keeper collects blue glass bottles."


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[RunningService]:
    async with running_service(tmp_path) as service:
        await service.add_document("ada", BOTTLES, id="keeper", metadata={"kind": "note"})
        await service.add_document("ada", "Bread rises faster in a warm kitchen.", id="bread", taskType="superrag")
        await service.wait_idle()
        yield service


async def _causes(service: RunningService, document: str, query: str, **body: Any) -> tuple[list[str], Any]:
    asked = {"query": query, "document": document, **body}
    answer = await service.client.ok("POST", "/ns/ada/explain/missing", asked)
    assert all(cause["description"] for cause in answer["causes"])
    return [cause["reason"] for cause in answer["causes"]], answer


async def test_a_document_that_is_found_is_said_to_be_found(world: RunningService) -> None:
    causes, answer = await _causes(world, "keeper", "Who collects bottles?")
    assert causes == ["found"]
    assert answer["rank"] == 1


async def test_a_document_that_is_not_there_is_unknown(world: RunningService) -> None:
    assert (await _causes(world, "gone", "bottles"))[0] == ["unknown"]


async def test_a_filter_that_leaves_it_out_is_named_with_the_condition(world: RunningService) -> None:
    condition = {"field": "kind", "operator": "eq", "value": "mail"}
    kept = {"field": "kind", "operator": "neq", "value": "never"}
    both = {"operator": "and", "operands": [kept, condition]}
    causes, answer = await _causes(world, "keeper", "Who collects bottles?", filter=both)
    assert causes == ["filter"]
    assert "mail" in answer["causes"][0]["description"]
    assert "never" not in answer["causes"][0]["description"]
    assert answer["best"]["chunk"] == BOTTLES


async def test_a_score_below_the_threshold_is_shown_beside_it(world: RunningService) -> None:
    causes, answer = await _causes(world, "keeper", "blue kitchen", threshold=1)
    assert "threshold" in causes
    assert answer["best"]["similarity"] < answer["threshold"] == 1


async def test_a_place_beyond_the_limit_is_told(world: RunningService) -> None:
    for number in range(3):
        await world.add_document("ada", f"{BOTTLES} Blue bottles, bottle {number}.", id=f"other-{number}")
    await world.wait_idle()
    ranks = {(await _causes(world, id_, "blue bottles", threshold=0))[1]["rank"]: id_ for id_ in ("keeper", "other-0")}
    last = ranks[max(ranks)]
    causes, answer = await _causes(world, last, "blue bottles", threshold=0, limit=1)
    assert causes == ["limit"]
    assert answer["rank"] == max(ranks)


async def test_a_kind_that_was_not_asked_for_is_told(world: RunningService) -> None:
    causes, answer = await _causes(world, "bread", "warm bread kitchen", searchMode="memories", threshold=0)
    assert causes == ["mode"]
    assert answer["rank"] is None
    assert answer["best"]["chunk"].startswith("Bread")


async def test_a_document_with_more_before_it_than_are_ranked_is_said_to_be_beyond_the_limit(
    world: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absence_explainer, "MAX_RANKED", 1)
    for number in range(3):
        await world.add_document("ada", f"{BOTTLES} Blue bottles, bottle {number}.", id=f"other-{number}")
    await world.wait_idle()
    told = [await _causes(world, id_, "blue bottles", threshold=0, limit=1) for id_ in ("keeper", "other-0", "other-1")]
    beyond = [answer for causes, answer in told if answer["rank"] is None]
    assert len(beyond) >= 2
    for answer in beyond:
        assert [cause["reason"] for cause in answer["causes"]] == ["limit"]
        assert "More than 1 passages" in answer["causes"][0]["description"]
        assert answer["best"]["similarity"] > 0


async def test_of_a_past_moment_the_state_of_then_is_told_and_not_that_of_today(world: RunningService) -> None:
    before = "2020-01-01T00:00:00Z"
    causes, answer = await _causes(world, "keeper", "Who collects bottles?", asOf=before)
    assert causes == ["unknown"]
    assert "not there then" in answer["causes"][0]["description"]
    assert answer["asOf"].startswith("2020-01-01")
    assert answer["limitations"]["notes"]


async def test_what_the_search_matches_is_highlighted(world: RunningService) -> None:
    asked = {"query": "Who collected the bottle?", "searchMode": "chunks", "limit": 1}
    (result,) = (await world.client.ok("POST", "/ns/ada/explain/search", asked))["results"]
    assert [BOTTLES[span["start"] : span["end"]] for span in result["highlights"]] == ["collects", "bottles"]
