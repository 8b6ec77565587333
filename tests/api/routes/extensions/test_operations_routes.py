"""Operator routes: status, failures, dead letters, buckets and replays."""

import json
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from api.dependencies.app_state import CurrentAppState
from api.dependencies.service_interfaces import ReplayService
from app.cli.commands.status_command import _service_table
from pipeline.bus.records import ProducerRecord
from pipeline.errors import RejectedError
from pipeline.stage import Record, Stage
from pipeline.store.generations.replay_request import ReplayProgress
from schemas.events import DocumentSubmitted
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.api.conftest import Service
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio
ADD = {"content": "Ada lives in Berlin.", "id": "note"}


async def _reject(records: Sequence[Record[DocumentSubmitted]]) -> None:
    raise RejectedError("this is a picture of a duck")


async def _dead_letter_everything(service: Service) -> None:
    """Turn all submissions so far into dead letters."""
    stage = Stage("picky", DOCUMENTS_SUBMITTED, _reject)
    await service.bus.run([stage], until_idle=True)


async def test_status_counts_documents_by_status(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", ADD)
    status = await client.ok("GET", "/admin/status")
    assert status["namespaces"] == 1
    assert status["documents"] == {"queued": 1}
    assert status["deadLetters"] == {}
    assert status["lag"] == {}
    await _dead_letter_everything(service)
    assert (await client.ok("GET", "/admin/status"))["lag"] == {"recollect.picky": 0}


class _RunningReplay:
    """A replay that is under way."""

    async def latest_progress(self) -> ReplayProgress:
        return ReplayProgress(state="running", step="documents.extracted.v1", read=3, total=4)


async def test_status_tells_of_a_replay_that_runs(service: Service, client: ContractClient) -> None:
    assert (await client.ok("GET", "/admin/status")).get("replay") is None
    serving: CurrentAppState = service.app.state.recollect
    serving.state = replace(serving.state, replays=cast("ReplayService", _RunningReplay()))
    answer = await client.ok("GET", "/admin/status")
    assert (answer["replay"]["read"], answer["replay"]["total"]) == (3, 4)
    table = _service_table("http://test", answer)
    cells = [cell for column in table.columns for cell in column.cells]
    assert "documents.extracted.v1, 75% of 4 records read" in cells


async def test_status_leaves_out_what_a_deleted_namespace_held(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", ADD)
    await client.ok("DELETE", "/ns/alice")
    status = await client.ok("GET", "/admin/status")
    assert (status["namespaces"], status["documents"]) == (0, {})


async def test_a_failed_document_is_shown_with_its_reason(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", ADD)
    documents = service.store.documents
    key = next(iter(await documents.matching_keys(["alice#0"])))
    await documents.update(
        [key], lambda _, rows: [replace(rows[0], status="failed", error="it is encrypted: save it without")]
    )
    failed = (await client.ok("GET", "/admin/failed"))["documents"]
    assert [(row["namespace"], row["id"], row["error"]) for row in failed] == [
        ("alice", "note", "it is encrypted: save it without")
    ]


async def test_a_dead_letter_is_shown_counted_and_given_back(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", ADD)
    await _dead_letter_everything(service)
    assert (await client.ok("GET", "/admin/status"))["deadLetters"] == {DOCUMENTS_SUBMITTED.name: 1}
    letter = (await client.ok("GET", "/admin/dlq"))["deadLetters"][0]
    assert letter["topic"] == DOCUMENTS_SUBMITTED.name
    assert (letter["stage"], letter["error"]) == ("picky", "this is a picture of a duck")
    assert await client.ok("POST", "/admin/dlq/redrive") == {"redriven": 1}
    assert (await client.ok("GET", "/admin/dlq"))["deadLetters"] == []


async def test_one_dead_letter_is_shown_with_what_it_holds(service: Service, client: ContractClient) -> None:
    await client("POST", "/ns/alice/document", ADD, headers={"x-request-id": "req-7"})
    await _dead_letter_everything(service)
    (letter,) = (await client.ok("GET", "/admin/dlq"))["deadLetters"]
    shown = await client.ok("GET", "/admin/dlq/record", params={"id": letter["id"]})
    assert letter.items() <= shown.items()
    assert shown["headers"] == {"request-id": "req-7"}
    assert json.loads(shown["payload"])["content"]["text"] == ADD["content"]
    assert (shown["encoding"], shown["size"]) == ("utf-8", len(shown["payload"].encode()))
    unknown_id = f"{letter['id']}9"
    await client.fails(404, "GET", "/admin/dlq/record", params={"id": unknown_id})


async def test_what_is_no_text_is_shown_as_base64(service: Service, client: ContractClient) -> None:
    await service.bus.append(DOCUMENTS_SUBMITTED.name, [ProducerRecord(b"key", b"\xff\xfe", {})])
    await _dead_letter_everything(service)
    (letter,) = (await client.ok("GET", "/admin/dlq"))["deadLetters"]
    shown = await client.ok("GET", "/admin/dlq/record", params={"id": letter["id"]})
    assert (shown["encoding"], b64decode(shown["payload"])) == ("base64", b"\xff\xfe")


async def test_chosen_dead_letters_are_given_back_or_dropped(service: Service, client: ContractClient) -> None:
    for number in range(3):
        await client.ok("POST", "/ns/alice/document", {**ADD, "id": f"d{number}"})
    await _dead_letter_everything(service)
    first, second, third = (letter["id"] for letter in (await client.ok("GET", "/admin/dlq"))["deadLetters"])
    assert await client.ok("POST", "/admin/dlq/redrive", params={"id": [first]}) == {"redriven": 1}
    assert await client.ok("DELETE", "/admin/dlq", params={"id": [second]}) == {"dropped": 1}
    assert [letter["id"] for letter in (await client.ok("GET", "/admin/dlq"))["deadLetters"]] == [third]
    await client.fails(400, "DELETE", "/admin/dlq")
    topic = {"topic": DOCUMENTS_SUBMITTED.name}
    assert await client.ok("DELETE", "/admin/dlq", params=topic) == {"dropped": 1}
    assert (await client.ok("GET", "/admin/dlq"))["deadLetters"] == []


async def test_dead_letters_are_chosen_by_the_topic_they_came_from(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", ADD)
    await _dead_letter_everything(service)
    assert (await client.ok("GET", "/admin/dlq?topic=documents.chunked.v1"))["deadLetters"] == []
    chosen = await client.ok("GET", f"/admin/dlq?topic={DOCUMENTS_SUBMITTED.name}")
    assert len(chosen["deadLetters"]) == 1


async def test_buckets_of_the_organization_are_shown_in_every_namespace(client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", ADD)
    settings = {"buckets": {"tastes": "What someone likes"}}
    assert await client.ok("PUT", "/admin/buckets", settings) == settings
    assert await client.ok("GET", "/ns/alice/profile/buckets") == settings
    await client.fails(409, "DELETE", "/ns/alice/profile/buckets", {"buckets": ["tastes"]})
    assert await client.ok("DELETE", "/admin/buckets", {"buckets": ["tastes", "unknown"]}) == {"buckets": {}}
    assert await client.ok("GET", "/admin/buckets") == {"buckets": {}}


async def test_setting_a_bucket_leaves_the_organizational_context(client: ContractClient) -> None:
    await client.ok("PATCH", "/organization", {"organizationalContext": "A bakery."})
    await client.ok("PUT", "/admin/buckets", {"buckets": {"tastes": "What someone likes"}})
    assert (await client.ok("GET", "/organization"))["organizationalContext"] == "A bakery."


@pytest.mark.parametrize("path", ["/admin/status", "/admin/failed", "/admin/dlq", "/admin/buckets"])
async def test_only_an_admin_key_opens_it(client: ContractClient, path: str) -> None:
    key = (await client.ok("POST", "/admin/keys", {"name": "app", "role": "write"}))["key"]
    await client.as_key(key).fails(403, "GET", path)
    await client.as_key(None).fails(401, "GET", path)
