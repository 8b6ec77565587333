"""Search and profile at a past moment: what a namespace answered then, asked again later."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.world import World, world

pytestmark = pytest.mark.anyio
EVERYTHING = {"threshold": 0, "limit": 100}
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
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("past")) as opened:
        yield opened


def _now() -> str:
    return datetime.now(UTC).isoformat()


async def _search(service: World, ns: str, moment: str | None, **body: Any) -> Any:
    asked = {"query": "Where does Ada live?", **EVERYTHING, **body}
    if moment is not None:
        asked["asOf"] = moment
    answer = await service.client.ok("POST", f"/ns/{ns}/explain/search", asked)
    answer.pop("searchTime")
    return answer


async def _profile(service: World, ns: str, moment: str | None, **body: Any) -> Any:
    asked = {**body, **({} if moment is None else {"asOf": moment})}
    return await service.client.ok("POST", f"/ns/{ns}/explain/profile", asked)


async def _say(service: World, ns: str, document: str, text: str) -> str:
    """Remember it; a moment after it was."""
    await service.add(ns, text, id=document)
    await service.settled()
    return _now()


def _texts(answer: Any) -> dict[str, bool]:
    """Memories by text, and whether they are the latest."""
    return {one["memory"]: one["isLatest"] for one in answer["results"] if "memory" in one}


async def _forget(service: World, ns: str, text: str) -> None:
    every = await service.listed(ns, "memories")
    ids = [one["id"] for one in every if text in one["memory"]]
    assert ids
    await service.client.ok("DELETE", f"/ns/{ns}/memories", {"ids": ids})
    await service.settled()


@dataclass(frozen=True)
class Step:
    """Something happens: somebody says something, or has it forgotten."""

    saying: int
    forgets: bool


STEPS = st.lists(st.builds(Step, st.integers(0, len(SAYINGS) - 1), st.booleans()), min_size=1, max_size=6)
_worlds = iter(range(1_000_000))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_what_was_answered_at_a_moment_is_answered_again_later(
    service: World, steps: list[Step]
) -> None:
    ns = f"history{next(_worlds)}"
    await _say(service, ns, "first", "Ada lives in Lima.")
    snapshots: list[tuple[str, Any, Any]] = []
    for number, step in enumerate(steps):
        await _step(service, ns, number, step)
        snapshots.append((_now(), await _search(service, ns, None), await _profile(service, ns, None)))
    for moment, found, profile in snapshots:
        again = await _search(service, ns, moment, include={"forgotten": True})
        assert again.pop("asOf")
        assert again.pop("limits")["withheldMemories"] == 0
        shown = {one["id"] for one in found["results"]}
        assert _comparable(again, only=shown) == _comparable(found)
        past = await _profile(service, ns, moment, include={"forgotten": True})
        assert past["profile"] == profile["profile"]
    now, found, profile = _now(), await _search(service, ns, None), await _profile(service, ns, None)
    present = await _search(service, ns, now)
    assert {name: value for name, value in present.items() if name not in {"asOf", "limits"}} == found
    assert (await _profile(service, ns, now))["profile"] == profile["profile"]


async def _step(service: World, ns: str, number: int, step: Step) -> None:
    if not step.forgets:
        await _say(service, ns, f"d{number}", SAYINGS[step.saying])
        return
    if memories := await service.listed(ns, "memories"):
        one = memories[step.saying % len(memories)]
        await service.client.ok("DELETE", f"/ns/{ns}/memories", {"ids": [one["id"]]})
        await service.settled()


def _comparable(answer: Any, only: set[str] | None = None) -> list[tuple[Any, ...]]:
    """All that a result says but when its row changed last; in order."""
    return [
        (one["id"], one["similarity"], one.get("memory") or one.get("chunk"), one["isLatest"], one["why"])
        for one in answer["results"]
        if only is None or one["id"] in only
    ]


async def test_between_two_updates_the_older_is_the_latest(service: World, ns: str) -> None:
    before = _now()
    first = await _say(service, ns, "one", "Ada lives in Rome.")
    second = await _say(service, ns, "two", "Ada lives in Oslo.")
    assert _texts(await _search(service, ns, first)) == {"Ada lives in Rome": True}
    assert _texts(await _search(service, ns, second)) == {"Ada lives in Oslo": True}
    for moment in (before, LONG_AGO):
        answer = await _search(service, ns, moment)
        assert answer["results"] == []
        assert (await _profile(service, ns, moment))["profile"]["static"] == []
    ahead = (datetime.now(UTC) + timedelta(days=300)).isoformat()
    assert _texts(await _search(service, ns, ahead)) == {"Ada lives in Oslo": True}


async def test_what_is_forgotten_stays_so_at_every_moment_unless_asked_for(service: World, ns: str) -> None:
    first = await _say(service, ns, "one", "Ada lives in Rome.")
    second = await _say(service, ns, "two", "Ada lives in Oslo.")
    third = await _say(service, ns, "three", "Ben works at Acme.")
    await _forget(service, ns, "Oslo")
    for moment in (first, second, third, _now()):
        answer = await _search(service, ns, moment, include={"related": True})
        assert "Ada lives" not in str([one for one in answer["results"] if "memory" in one])
        profile = await _profile(service, ns, moment)
        assert "Ada lives" not in str(profile["profile"])
    assert (await _search(service, ns, second))["limits"]["withheldMemories"] == 2
    asked = {"include": {"forgotten": True}}
    assert _texts(await _search(service, ns, first, **asked)) == {"Ada lives in Rome": True}
    assert _texts(await _search(service, ns, second, **asked))["Ada lives in Oslo"] is True


async def test_what_is_over_by_its_own_words_is_there_again(service: World, ns: str) -> None:
    await service.add(ns, "Ada is on vacation until 3 March 2026.", id="one", date="2026-03-01")
    await service.settled()
    assert _texts(await _search(service, ns, None)) == {}
    assert (await _search(service, ns, _now()))["limits"]["withheldMemories"] == 0


async def test_erased_text_does_not_come_back(service: World, ns: str) -> None:
    then = await _say(service, ns, "one", "Ada lives in Rome.")
    then = await _say(service, ns, "two", "The harbour of Lima is large.")
    await service.delete(ns, "one")
    await service.patch(ns, "two", content="The harbour of Oslo is small.")
    await service.settled()
    answer = await _search(service, ns, then, include={"forgotten": True, "documents": True})
    assert answer["results"] == []
    assert answer["limits"]["changedDocuments"] == 1
    said = " ".join(answer["limits"]["says"])
    assert "deleted" in said
    assert "changed since: 1." in said


async def test_a_filter_holds_in_the_past_too(service: World, ns: str) -> None:
    await service.add(ns, "Ada lives in Rome.", id="one", metadata={"source": "mail"})
    await service.add(ns, "Ben works at Acme.", id="two", metadata={"source": "chat"})
    await service.settled()
    moment = _now()
    filtered = {"filter": {"field": "source", "operator": "eq", "value": "mail"}}
    answer = await _search(service, ns, moment, **filtered)
    assert {one["metadata"]["source"] for one in answer["results"]} == {"mail"}
    profile = (await _profile(service, ns, moment, **filtered))["profile"]
    assert [one["memory"] for one in profile["static"]] == ["Ada lives in Rome"]


async def test_a_moment_needs_a_zone(service: World, ns: str) -> None:
    for wrong in ("2026-03-01T12:00:00", "yesterday", 1_700_000_000):
        body = {"query": "tea", "asOf": wrong}
        problem = await service.client.refused(400, "POST", f"/ns/{ns}/explain/search", body)
        assert "asOf" in str(problem)
