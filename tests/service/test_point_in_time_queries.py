"""Search and profile at a past moment: what a namespace answered then, asked again later."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio
MATCH_ALL_QUERY = {"threshold": 0, "limit": 100}
LONG_AGO = "2020-01-01T00:00:00Z"
CITIES = ("Rome", "Oslo", "Lima")
SAYINGS = (
    *(f"Ada lives in {city}." for city in CITIES),
    "Ada likes green tea.",
    "Ada no longer likes green tea.",
    "Ben works at Acme.",
    "Ben now works at Initech, and has two cats.",
)


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[RunningService]:
    async with running_service(tmp_path_factory.mktemp("past")) as opened:
        yield opened


def _now() -> str:
    return datetime.now(UTC).isoformat()


async def _search(service: RunningService, ns: str, moment: str | None, **body: Any) -> Any:
    asked = {"query": "Where does Ada live?", **MATCH_ALL_QUERY, **body}
    if moment is not None:
        asked["asOf"] = moment
    answer = await service.client.ok("POST", f"/ns/{ns}/explain/search", asked)
    answer.pop("searchTime")
    return answer


async def _profile(service: RunningService, ns: str, moment: str | None, **body: Any) -> Any:
    asked = {**body, **({} if moment is None else {"asOf": moment})}
    return await service.client.ok("POST", f"/ns/{ns}/explain/profile", asked)


async def _add_text(service: RunningService, ns: str, document: str, text: str) -> str:
    """Remember it; a moment after it was."""
    await service.add_document(ns, text, id=document)
    await service.wait_idle()
    return _now()


def _texts(answer: Any) -> dict[str, bool]:
    """Memories by text, and whether they are the latest."""
    return {result["memory"]: result["isLatest"] for result in answer["results"] if "memory" in result}


async def _forget(service: RunningService, ns: str, text: str) -> None:
    every = await service.list_items(ns, "memories")
    ids = [memory["id"] for memory in every if text in memory["memory"]]
    assert ids
    await service.client.ok("DELETE", f"/ns/{ns}/memories", {"ids": ids})
    await service.wait_idle()


@dataclass(frozen=True)
class Step:
    """A step of a history: a statement is added or forgotten."""

    saying: int
    forgets: bool


STEPS = st.lists(st.builds(Step, st.integers(0, len(SAYINGS) - 1), st.booleans()), min_size=1, max_size=6)
_worlds = iter(range(1_000_000))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
@example(steps=[Step(0, False), Step(0, True), Step(1, False)])
async def test_what_was_answered_at_a_moment_is_answered_again_later(
    service: RunningService, steps: list[Step]
) -> None:
    ns = f"history{next(_worlds)}"
    await _add_text(service, ns, "first", "Ada lives in Lima.")
    snapshots: list[tuple[str, Any, Any]] = []
    for number, step in enumerate(steps):
        await _apply_step(service, ns, number, step)
        snapshots.append((_now(), await _search(service, ns, None), await _profile(service, ns, None)))
    for moment, found, profile in snapshots:
        again = await _search(service, ns, moment, include={"forgotten": True})
        assert again.pop("asOf")
        assert again.pop("limitations")["withheldMemories"] == 0
        shown = {result["id"] for result in found["results"]}
        assert _comparable(again, only=shown) == _comparable(found)
        past = await _profile(service, ns, moment, include={"forgotten": True})
        assert past["profile"] == profile["profile"]
    now, found, profile = _now(), await _search(service, ns, None), await _profile(service, ns, None)
    present = await _search(service, ns, now)
    assert {name: value for name, value in present.items() if name not in {"asOf", "limitations"}} == found
    assert (await _profile(service, ns, now))["profile"] == profile["profile"]


async def _apply_step(service: RunningService, ns: str, number: int, step: Step) -> None:
    if not step.forgets:
        await _add_text(service, ns, f"d{number}", SAYINGS[step.saying])
        return
    if memories := await service.list_items(ns, "memories"):
        memory = memories[step.saying % len(memories)]
        await service.client.ok("DELETE", f"/ns/{ns}/memories", {"ids": [memory["id"]]})
        await service.wait_idle()


def _comparable(answer: Any, only: set[str] | None = None) -> list[tuple[Any, ...]]:
    """All that a result says but when its row changed last; in order."""
    return [
        (
            result["id"],
            result["similarity"],
            result.get("memory") or result.get("chunk"),
            result["isLatest"],
            result["explanation"],
        )
        for result in answer["results"]
        if only is None or result["id"] in only
    ]


async def test_between_two_updates_the_older_is_the_latest(service: RunningService, ns: str) -> None:
    before = _now()
    first = await _add_text(service, ns, "one", "Ada lives in Rome.")
    second = await _add_text(service, ns, "two", "Ada lives in Oslo.")
    assert _texts(await _search(service, ns, first)) == {"Ada lives in Rome": True}
    assert _texts(await _search(service, ns, second)) == {"Ada lives in Oslo": True}
    for moment in (before, LONG_AGO):
        answer = await _search(service, ns, moment)
        assert answer["results"] == []
        assert (await _profile(service, ns, moment))["profile"]["static"] == []
    ahead = (datetime.now(UTC) + timedelta(days=300)).isoformat()
    assert _texts(await _search(service, ns, ahead)) == {"Ada lives in Oslo": True}


async def test_what_is_forgotten_stays_so_at_every_moment_unless_asked_for(service: RunningService, ns: str) -> None:
    first = await _add_text(service, ns, "one", "Ada lives in Rome.")
    second = await _add_text(service, ns, "two", "Ada lives in Oslo.")
    third = await _add_text(service, ns, "three", "Ben works at Acme.")
    await _forget(service, ns, "Oslo")
    for moment in (first, second, third, _now()):
        answer = await _search(service, ns, moment, include={"related": True})
        assert "Ada lives" not in str([result for result in answer["results"] if "memory" in result])
        profile = await _profile(service, ns, moment)
        assert "Ada lives" not in str(profile["profile"])
    assert (await _search(service, ns, second))["limitations"]["withheldMemories"] == 2
    asked = {"include": {"forgotten": True}}
    assert _texts(await _search(service, ns, first, **asked)) == {"Ada lives in Rome": True}
    assert _texts(await _search(service, ns, second, **asked))["Ada lives in Oslo"] is True


async def test_what_is_over_by_its_own_words_is_there_again(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada is on vacation until 3 March 2026.", id="one", date="2026-03-01")
    await service.wait_idle()
    assert _texts(await _search(service, ns, None)) == {}
    assert (await _search(service, ns, _now()))["limitations"]["withheldMemories"] == 0


async def test_erased_text_does_not_come_back(service: RunningService, ns: str) -> None:
    then = await _add_text(service, ns, "one", "Ada lives in Rome.")
    then = await _add_text(service, ns, "two", "The harbour of Lima is large.")
    await service.delete_documents(ns, "one")
    await service.patch_document(ns, "two", content="The harbour of Oslo is small.")
    await service.wait_idle()
    answer = await _search(service, ns, then, include={"forgotten": True, "documents": True})
    assert answer["results"] == []
    assert answer["limitations"]["changedDocuments"] == 1
    said = " ".join(answer["limitations"]["notes"])
    assert "deleted" in said
    assert "changed since: 1." in said


async def test_a_filter_holds_in_the_past_too(service: RunningService, ns: str) -> None:
    await service.add_document(ns, "Ada lives in Rome.", id="one", metadata={"source": "mail"})
    await service.add_document(ns, "Ben works at Acme.", id="two", metadata={"source": "chat"})
    await service.wait_idle()
    moment = _now()
    filtered = {"filter": {"field": "source", "operator": "eq", "value": "mail"}}
    answer = await _search(service, ns, moment, **filtered)
    assert {result["metadata"]["source"] for result in answer["results"]} == {"mail"}
    profile = (await _profile(service, ns, moment, **filtered))["profile"]
    assert [memory["memory"] for memory in profile["static"]] == ["Ada lives in Rome"]


async def test_a_moment_needs_a_zone(service: RunningService, ns: str) -> None:
    for wrong in ("2026-03-01T12:00:00", "yesterday", 1_700_000_000):
        body = {"query": "tea", "asOf": wrong}
        problem = await service.client.fails(400, "POST", f"/ns/{ns}/explain/search", body)
        assert "asOf" in str(problem)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_moment_outside_the_calendar_is_refused(service: RunningService, ns: str, moment: str) -> None:
    for question, body in (
        ("search", {"query": "tea"}),
        ("missing", {"query": "tea", "document": "d"}),
        ("profile", {}),
    ):
        asked = {**body, "asOf": moment}
        assert "asOf" in str(await service.client.fails(400, "POST", f"/ns/{ns}/explain/{question}", asked))
