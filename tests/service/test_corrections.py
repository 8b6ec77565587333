"""Corrections of memories by people: what they say holds, is kept by a replay, and can be taken back."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.generation_rows import run_replay
from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio
LISBON, PORTO = "I live in Lisbon.", "I now live in Porto."


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[RunningService]:
    async with running_service(tmp_path / "data") as opened:
        yield opened


async def _correct(service: RunningService, action: str, id_: str, **fields: Any) -> Any:
    answer = await service.client.ok("POST", "/ns/ada/explain/corrections", {"action": action, "id": id_, **fields})
    await service.wait_idle()
    return answer


async def _undo(service: RunningService, answer: Any) -> None:
    await _correct(service, action=answer["undo"]["action"], id_=answer["undo"]["id"])


async def _current(service: RunningService) -> list[str]:
    return sorted(row["memory"] for row in await service.list_items("ada", "memories"))


async def _add(service: RunningService, content: str, date: str) -> None:
    await service.add_document("ada", content, date=date)
    await service.wait_idle()


async def _open_reviews(service: RunningService) -> Any:
    return await service.client.ok("GET", "/ns/ada/explain/reviews")


async def test_a_memory_is_edited_ended_forgotten_and_each_is_taken_back(service: RunningService) -> None:
    await _add(service, LISBON, "2026-03-02")
    (memory,) = await service.list_items("ada", "memories")
    edited = await _correct(service, "edit", memory["id"], text="User lives in Faro")
    assert await _current(service) == ["User lives in Faro"]
    await run_replay(service)
    assert await _current(service) == ["User lives in Faro"]
    await _undo(service, edited)
    assert await _current(service) == ["User lives in Lisbon"]
    for action in ("end", "forget"):
        hidden = await _correct(service, action, memory["id"])
        assert await _current(service) == []
        await service.client.fails(
            409, "POST", "/ns/ada/explain/corrections", {"action": "confirm", "id": memory["id"]}
        )
        await _undo(service, hidden)
        await run_replay(service)
        assert await _current(service) == ["User lives in Lisbon"]


async def test_an_ended_memory_was_true_before_and_a_forgotten_one_is_not_told(service: RunningService) -> None:
    await _add(service, LISBON, "2026-03-02")
    (memory,) = await service.list_items("ada", "memories")
    before = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    query = {"query": "Where does Ada live?", "searchMode": "memories", "asOf": before}
    for action, told in (("end", 1), ("forget", 0)):
        hidden = await _correct(service, action, memory["id"])
        answer = await service.client.ok("POST", "/ns/ada/explain/search", query)
        assert len(answer["results"]) == told
        await _undo(service, hidden)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("accept", ["User now lives in Porto"]),
        ("decline", ["User lives in Lisbon"]),
        ("keep-both", ["User lives in Lisbon", "User now lives in Porto"]),
    ],
)
async def test_a_person_decides_about_an_update(service: RunningService, action: str, expected: list[str]) -> None:
    await _add(service, LISBON, "2026-03-02")
    await _add(service, PORTO, "2026-06-20")
    answer = await _open_reviews(service)
    (review,) = answer["reviews"]
    assert (review["older"]["sentence"], review["newer"]["sentence"]) == (LISBON, PORTO)
    decided = await _correct(service, action, review["newer"]["id"], replaced=review["older"]["id"])
    assert await _current(service) == expected
    assert (await _open_reviews(service))["total"] == 0
    await run_replay(service)
    assert await _current(service) == expected
    await _undo(service, decided)
    assert await _current(service) == ["User now lives in Porto"]
    assert (await _open_reviews(service))["total"] == 1


async def test_a_contradiction_of_one_day_is_asked_about_first(service: RunningService) -> None:
    await _add(service, LISBON, "2026-03-02")
    await _add(service, "I work as a nurse. I now live in Porto.", "2026-04-02")
    await _add(service, "I work as a baker.", "2026-04-02")
    kinds = [review["kind"] for review in (await _open_reviews(service))["reviews"]]
    assert kinds[0] == "contradiction"


async def test_a_correction_that_means_nothing_is_refused(service: RunningService) -> None:
    await _add(service, LISBON, "2026-03-02")
    (memory,) = await service.list_items("ada", "memories")
    fails = service.client.fails
    path = "/ns/ada/explain/corrections"
    await fails(404, "POST", path, {"action": "forget", "id": "none"})
    await fails(404, "POST", path, {"action": "withdraw", "id": memory["id"]})
    await fails(400, "POST", path, {"action": "edit", "id": memory["id"]})
    await fails(400, "POST", path, {"action": "edit", "id": memory["id"], "text": memory["memory"]})
    await fails(400, "POST", path, {"action": "accept", "id": memory["id"]})
    await fails(409, "POST", path, {"action": "restore", "id": memory["id"]})
    await fails(404, "POST", "/ns/nobody/explain/corrections", {"action": "forget", "id": memory["id"]})
    reader = await service.client.ok("POST", "/admin/keys", {"name": "reader", "role": "read"})
    await service.client.as_key(reader["key"]).fails(403, "POST", path, {"action": "forget", "id": memory["id"]})
