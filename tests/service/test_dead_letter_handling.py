"""Records that cannot be handled are shown to the operator and hold up nothing else."""

import json
from datetime import UTC, datetime

import pytest

from pipeline.bus.records import ProducerRecord
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.support.contract_client import ContractClient
from tests.support.service_world import RunningService

pytestmark = pytest.mark.anyio

PRIVATE = "http://127.0.0.1:9/secret"


async def _publish_raw(service: RunningService, topic: str, key: bytes, value: bytes) -> tuple[str, int, int]:
    """Put a record on a topic by hand; its place."""
    (place,) = await service.pipeline.bus.append(topic, [ProducerRecord(key, value, {})])
    return topic, place.partition, place.offset


async def test_a_bad_record_is_parked_and_shown_and_the_rest_goes_on(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    future = {"operation": "explode", "incarnation": f"{ns}#0", "at": datetime.now(UTC).isoformat()}
    bad = [
        (b"key", b"\xff\xfe not text"),
        (b"\xff\xfe", b"{}"),
        (b"key", b'{"operation": "add"'),
        (b"key", json.dumps(future).encode()),
        (b"key", b""),
    ]
    places = [await _publish_raw(service, DOCUMENTS_SUBMITTED.name, key, value) for key, value in bad]
    for number in range(8):
        await service.add_document(ns, f"Ada has {number} cats.", id=f"d{number}")
    read = {stage.source.name for stage in service.pipeline.stages}
    places += [await _publish_raw(service, topic, b"key", b"\xff\xfe") for topic in sorted(read)]
    await service.wait_idle()
    states = {document["system"]["status"] for document in await service.list_items(ns, "documents")}
    assert states == {"done"}

    letters = (await client.ok("GET", "/admin/dlq?limit=1000"))["deadLetters"]
    shown = {(letter["topic"], letter["partition"], letter["offset"]): letter for letter in letters}
    assert shown.keys() >= set(places)
    assert all(shown[place]["error"] and shown[place]["stage"] for place in places)
    counts = (await client.ok("GET", "/admin/status"))["deadLetters"]
    assert counts[DOCUMENTS_SUBMITTED.name] >= len(bad)
    only = (await client.ok("GET", f"/admin/dlq?topic={DOCUMENTS_SUBMITTED.name}"))["deadLetters"]
    assert {letter["topic"] for letter in only} == {DOCUMENTS_SUBMITTED.name}


async def test_a_bad_record_that_is_given_back_is_parked_again_at_its_first_place(
    service: RunningService, client: ContractClient
) -> None:
    place = await _publish_raw(service, DOCUMENTS_SUBMITTED.name, b"key", b"\xff")
    await service.wait_idle()
    for _ in range(2):
        replayed = (await client.ok("POST", f"/admin/dlq/redrive?topic={place[0]}"))["redriven"]
        assert replayed >= 1
        await service.wait_idle()
        letters = (await client.ok("GET", f"/admin/dlq?topic={place[0]}&limit=1000"))["deadLetters"]
        assert len(letters) == replayed
        assert place in {(letter["topic"], letter["partition"], letter["offset"]) for letter in letters}


async def test_dead_letters_and_failures_are_for_administrators(
    service: RunningService, client: ContractClient
) -> None:
    body = {"name": "of tests", "role": "write"}
    writer = client.as_key((await client.ok("POST", "/admin/keys", body))["key"])
    for path in ("/admin/dlq", "/admin/failed", "/admin/status"):
        await writer.fails(403, "GET", path)


async def test_a_private_address_given_as_content_fails_with_a_clear_reason(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    await service.add_document(ns, PRIVATE, id="x")
    await service.wait_idle()
    assert (await service.read_document(ns, "x"))["system"]["status"] == "failed"
    failed = {(failure["namespace"], failure["id"]): failure for failure in (await _failed(client))}
    error = failed[ns, "x"]["error"]
    assert "127.0.0.1" in error
    assert "private" in error.lower() or "public" in error.lower()


async def test_a_failed_document_says_why_and_succeeds_after_a_patch_with_good_content(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    await service.add_document(ns, PRIVATE, id="x", metadata={"k": 1})
    await service.wait_idle()
    status = await client.ok("GET", "/admin/status")
    assert status["documents"]["failed"] >= 1
    await service.patch_document(ns, "x", content="Ada lives in Berlin.")
    assert (ns, "x") not in {(failure["namespace"], failure["id"]) for failure in await _failed(client)}
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert (read["content"], read["metadata"]) == ("Ada lives in Berlin.", {"k": 1})
    assert (read["system"]["status"], read["system"]["dreamingStatus"]) == ("done", "done")
    assert (len(read["chunks"]), len(read["memories"])) == (1, 1)
    assert await service.search(ns, "Ada")


async def test_a_file_that_is_not_what_it_says_fails_alone(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    files = {"file": ("broken.pdf", b"%PDF-1.7 nothing of the kind", "application/pdf")}
    uploaded = (await client.ok("POST", f"/ns/{ns}/document/file", files=files))["id"]
    await service.add_document(ns, "Ada lives in Berlin.", id="good")
    await service.wait_idle()
    (failed,) = [failure for failure in await _failed(client) if failure["namespace"] == ns]
    assert failed["id"] == uploaded
    assert len(failed["error"]) > len("PDF")
    assert (await service.read_document(ns, "good"))["system"]["status"] == "done"
    await service.delete_documents(ns, uploaded)
    assert not [failure for failure in await _failed(client) if failure["namespace"] == ns]


async def test_a_change_that_fails_leaves_the_text_that_was_there_and_what_was_found_of_it(
    service: RunningService, client: ContractClient, ns: str
) -> None:
    await service.add_document(ns, "Ada lives in Berlin.", id="x")
    await service.wait_idle()
    await service.patch_document(ns, "x", content=PRIVATE)
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert (read["system"]["status"], read["content"]) == ("failed", "Ada lives in Berlin.")
    assert [chunk["content"] for chunk in read["chunks"]] == ["Ada lives in Berlin."]
    await service.add_document(ns, "Ada plays the cello.", id="x")
    await service.wait_idle()
    read = await service.read_document(ns, "x")
    assert read["content"] == "Ada lives in Berlin.\n\nAda plays the cello."
    assert read["system"]["status"] == "done"


async def _failed(client: ContractClient) -> list[dict[str, str]]:
    found: list[dict[str, str]] = (await client.ok("GET", "/admin/failed"))["documents"]
    return found
