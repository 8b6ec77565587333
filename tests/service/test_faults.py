"""What cannot be handled is shown to the operator, and holds up nothing else."""

import json
from datetime import UTC, datetime

import pytest

from pipeline.records import Entry
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.contract import Client
from tests.service.world import World

pytestmark = pytest.mark.anyio

PRIVATE = "http://127.0.0.1:9/secret"


async def _park(service: World, topic: str, key: bytes, value: bytes) -> tuple[str, int, int]:
    """Put a record on a topic by hand; its place."""
    (place,) = await service.pipeline.bus.append(topic, [Entry(key, value, {})])
    return topic, place.partition, place.offset


async def test_a_bad_record_is_parked_and_shown_and_the_rest_goes_on(
    service: World, client: Client, ns: str
) -> None:
    future = {"operation": "explode", "space": f"{ns}#0", "at": datetime.now(UTC).isoformat()}
    bad = [
        (b"key", b"\xff\xfe not text"),
        (b"\xff\xfe", b"{}"),
        (b"key", b'{"operation": "add"'),
        (b"key", json.dumps(future).encode()),
        (b"key", b""),
    ]
    places = [await _park(service, DOCUMENTS_SUBMITTED.name, key, value) for key, value in bad]
    for number in range(8):
        await service.add(ns, f"Ada has {number} cats.", id=f"d{number}")
    read = {stage.source.name for stage in service.pipeline.stages}
    places += [await _park(service, topic, b"key", b"\xff\xfe") for topic in sorted(read)]
    await service.settled()
    states = {one["system"]["status"] for one in await service.listed(ns, "documents")}
    assert states == {"done"}

    letters = (await client.ok("GET", "/admin/dlq?limit=1000"))["letters"]
    shown = {(one["topic"], one["partition"], one["offset"]): one for one in letters}
    assert shown.keys() >= set(places)
    assert all(shown[place]["error"] and shown[place]["stage"] for place in places)
    counts = (await client.ok("GET", "/admin/status"))["deadLetters"]
    assert counts[DOCUMENTS_SUBMITTED.name] >= len(bad)
    only = (await client.ok("GET", f"/admin/dlq?topic={DOCUMENTS_SUBMITTED.name}"))["letters"]
    assert {one["topic"] for one in only} == {DOCUMENTS_SUBMITTED.name}


async def test_a_bad_record_that_is_given_back_is_parked_again_at_its_first_place(
    service: World, client: Client
) -> None:
    place = await _park(service, DOCUMENTS_SUBMITTED.name, b"key", b"\xff")
    await service.settled()
    for _ in range(2):
        replayed = (await client.ok("POST", f"/admin/dlq/replay?topic={place[0]}"))["replayed"]
        assert replayed >= 1
        await service.settled()
        letters = (await client.ok("GET", f"/admin/dlq?topic={place[0]}&limit=1000"))["letters"]
        assert len(letters) == replayed
        assert place in {(one["topic"], one["partition"], one["offset"]) for one in letters}


async def test_dead_letters_and_failures_are_for_administrators(service: World, client: Client) -> None:
    body = {"name": "of tests", "role": "write"}
    writer = client.as_key((await client.ok("POST", "/admin/keys", body))["key"])
    for path in ("/admin/dlq", "/admin/failed", "/admin/status"):
        await writer.refused(403, "GET", path)


async def test_a_private_address_given_as_content_fails_with_a_clear_reason(
    service: World, client: Client, ns: str
) -> None:
    await service.add(ns, PRIVATE, id="x")
    await service.settled()
    assert (await service.read(ns, "x"))["system"]["status"] == "failed"
    failed = {(one["namespace"], one["id"]): one for one in (await _failed(client))}
    error = failed[ns, "x"]["error"]
    assert "127.0.0.1" in error
    assert "private" in error.lower() or "public" in error.lower()


async def test_a_failed_document_says_why_and_succeeds_after_a_patch_with_good_content(
    service: World, client: Client, ns: str
) -> None:
    await service.add(ns, PRIVATE, id="x", metadata={"k": 1})
    await service.settled()
    status = await client.ok("GET", "/admin/status")
    assert status["documents"]["failed"] >= 1
    await service.patch(ns, "x", content="Ada lives in Berlin.")
    assert (ns, "x") not in {(one["namespace"], one["id"]) for one in await _failed(client)}
    await service.settled()
    read = await service.read(ns, "x")
    assert (read["content"], read["metadata"]) == ("Ada lives in Berlin.", {"k": 1})
    assert (read["system"]["status"], read["system"]["dreamingStatus"]) == ("done", "done")
    assert (len(read["chunks"]), len(read["memories"])) == (1, 1)
    assert await service.search(ns, "Ada")


async def test_a_file_that_is_not_what_it_says_fails_alone(service: World, client: Client, ns: str) -> None:
    files = {"file": ("broken.pdf", b"%PDF-1.7 nothing of the kind", "application/pdf")}
    uploaded = (await client.ok("POST", f"/ns/{ns}/document/file", files=files))["id"]
    await service.add(ns, "Ada lives in Berlin.", id="good")
    await service.settled()
    (failed,) = [one for one in await _failed(client) if one["namespace"] == ns]
    assert failed["id"] == uploaded
    assert len(failed["error"]) > len("PDF")
    assert (await service.read(ns, "good"))["system"]["status"] == "done"
    await service.delete(ns, uploaded)
    assert not [one for one in await _failed(client) if one["namespace"] == ns]


async def test_a_change_that_fails_leaves_the_text_that_was_there_and_what_was_found_of_it(
    service: World, client: Client, ns: str
) -> None:
    await service.add(ns, "Ada lives in Berlin.", id="x")
    await service.settled()
    await service.patch(ns, "x", content=PRIVATE)
    await service.settled()
    read = await service.read(ns, "x")
    assert (read["system"]["status"], read["content"]) == ("failed", "Ada lives in Berlin.")
    assert [chunk["content"] for chunk in read["chunks"]] == ["Ada lives in Berlin."]
    await service.add(ns, "Ada plays the cello.", id="x")
    await service.settled()
    read = await service.read(ns, "x")
    assert read["content"] == "Ada lives in Berlin.\n\nAda plays the cello."
    assert read["system"]["status"] == "done"


async def _failed(client: Client) -> list[dict[str, str]]:
    found: list[dict[str, str]] = (await client.ok("GET", "/admin/failed"))["documents"]
    return found
