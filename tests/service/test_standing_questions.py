"""Standing questions: what their receivers are told, when receivers misbehave, and what stays after a restart."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from api.questions import question_notifier
from connectors.accounts.credential_vault import generate_key
from schemas.limits import MAX_QUESTIONS
from tests.support.connectors.connected_service import bytes_on_disk
from tests.support.contract_client import ContractClient
from tests.support.generation_rows import run_replay
from tests.support.service_world import RunningService, running_service, wait_until
from tests.support.webhook_receiver import WebhookReceiver, is_signed, webhook_receiver

pytestmark = pytest.mark.anyio
PATH = "/ns/ada/explain/questions"


@pytest.fixture(autouse=True)
def _in_short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_notifier, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(question_notifier, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(question_notifier, "MAX_RETRY_SECONDS", 0.02)


@pytest.fixture
async def receiver() -> AsyncIterator[WebhookReceiver]:
    async with webhook_receiver() as opened:
        yield opened


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[RunningService]:
    async with running_service(tmp_path, fetch_private_addresses=True) as opened:
        yield opened


async def _ask(client: ContractClient, receiver: WebhookReceiver, query: str, **fields: Any) -> Any:
    return await client.ok("POST", PATH, {"query": query, "url": receiver.url, **fields})


async def _only_question(client: ContractClient) -> Any:
    (question,) = (await client.ok("GET", PATH))["questions"]
    return question


async def _until_question(client: ContractClient, **fields: Any) -> Any:
    async def has() -> Any:
        question = await _only_question(client)
        return question if fields.items() <= question.items() else None

    return await wait_until(has, f"a question with {fields}")


async def test_a_new_memory_that_answers_is_told_signed_and_others_are_not(
    service: RunningService, receiver: WebhookReceiver
) -> None:
    await service.add_document("ada", "I live in Madrid.", date="2026-01-01")
    await service.wait_idle()
    asked = await _ask(service.client, receiver, "Where does she live?")
    await service.add_document("ada", "I am allergic to peanuts.")
    await service.add_document("ada", "I moved to Porto.", id="moved", date="2026-02-01")
    (told,) = await receiver.until_received(1)
    assert told["type"] == "question.answered"
    assert told["namespace"] == "ada"
    assert told["question"] == {"id": asked["id"], "query": "Where does she live?"}
    (memory,) = told["memories"]
    assert "Porto" in memory["memory"]
    assert memory["document"] == "moved"
    assert [replaced["memory"] for replaced in memory["replaced"]] == ["User lives in Madrid"]
    found = await service.search("ada", "Where does she live?", searchMode="memories")
    assert memory["similarity"] == pytest.approx(next(hit["similarity"] for hit in found if hit["id"] == memory["id"]))
    assert is_signed(asked["secret"], receiver.attempts[0], receiver.raw[0])
    assert not is_signed(asked["secret"], receiver.attempts[0], receiver.raw[0] + b" ")
    question = await _until_question(service.client, delivered=1)
    assert "secret" not in question
    assert question["status"] == "active"


async def test_each_memory_is_told_once_however_often_it_is_said(
    service: RunningService, receiver: WebhookReceiver
) -> None:
    await _ask(service.client, receiver, "Where does she live?")
    await service.add_document("ada", "I live in Lisbon.", id="first")
    await receiver.until_received(1)
    await service.add_document("ada", "I live in Lisbon.", id="again")
    await service.patch_document("ada", "first", content="I live in Lisbon. My cat is called Pixel.")
    await service.wait_idle()
    await service.add_document("ada", "I live in Porto now.", id="last")
    told = await receiver.until_received(2)
    ids = [memory["id"] for body in told for memory in body["memories"]]
    assert len(ids) == len(set(ids)) == 2


@pytest.mark.parametrize("mood", ["refuses", "redirects", "closes"])
async def test_a_failed_delivery_is_repeated_as_it_was(
    service: RunningService, receiver: WebhookReceiver, mood: Any
) -> None:
    receiver.mood = mood
    await _ask(service.client, receiver, "Where does she live?")
    await service.add_document("ada", "I live in Lisbon.")
    await receiver.until_tried(2)
    failing = await _until_question(service.client, status="failing")
    assert failing["error"].startswith("The receiver ")
    receiver.mood = "kind"
    (told,) = await receiver.until_received(1)
    assert {headers["webhook-id"] for headers in receiver.attempts} == {told["id"]}
    await _until_question(service.client, status="active", delivered=1, waiting=0)


async def test_a_receiver_that_answers_nothing_holds_up_only_its_question(
    service: RunningService, receiver: WebhookReceiver
) -> None:
    receiver.mood = "hangs"
    await _ask(service.client, receiver, "Where does she live?")
    async with webhook_receiver() as other:
        await _ask(service.client, other, "Where does she live?")
        await service.add_document("ada", "I live in Lisbon.")
        await other.until_received(1)
        await receiver.until_tried(1)
        assert not receiver.received


async def test_a_receiver_that_stays_away_leaves_dead_letters_that_can_be_redelivered(
    service: RunningService, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_notifier, "MAX_ATTEMPTS", 2)
    monkeypatch.setattr(question_notifier, "MAX_DEAD_LETTERS", 1)
    receiver.mood = "refuses"
    asked = await _ask(service.client, receiver, "Where does she live?")
    await service.add_document("ada", "I live in Lisbon.")
    stopped = await _until_question(service.client, status="stopped")
    (letter,) = stopped["deadLetters"]
    assert letter["attempts"] == 2
    assert letter["error"] == "The receiver answered 500."
    receiver.mood = "kind"
    await service.client.ok("POST", f"{PATH}/{asked['id']}/dead-letters", {"action": "redeliver"})
    (told,) = await receiver.until_received(1)
    assert told["id"] == letter["id"]
    await _until_question(service.client, status="active", deadLetters=[])


async def test_discarded_dead_letters_are_gone_and_later_news_is_told(
    service: RunningService, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_notifier, "MAX_ATTEMPTS", 1)
    monkeypatch.setattr(question_notifier, "MAX_DEAD_LETTERS", 1)
    receiver.mood = "refuses"
    asked = await _ask(service.client, receiver, "Where does she live?")
    await service.add_document("ada", "I live in Lisbon.")
    await _until_question(service.client, status="stopped")
    await service.client.ok("POST", f"{PATH}/{asked['id']}/dead-letters", {"action": "discard"})
    await _until_question(service.client, status="active", deadLetters=[])
    receiver.mood = "kind"
    await service.add_document("ada", "I live in Porto now.")
    (told,) = await receiver.until_received(1)
    assert "Porto" in told["memories"][0]["memory"]


async def test_what_was_forgotten_meanwhile_is_not_told(service: RunningService, receiver: WebhookReceiver) -> None:
    receiver.mood = "refuses"
    await _ask(service.client, receiver, "Where does she live?")
    await service.add_document("ada", "I live in Lisbon.", id="said")
    await receiver.until_tried(1)
    await service.delete_documents("ada", "said")
    await service.wait_idle()
    await _until_question(service.client, waiting=0, deadLetters=[], delivered=0)


async def test_a_question_and_its_place_outlast_a_restart_and_a_replay(
    tmp_path: Path, receiver: WebhookReceiver
) -> None:
    async with running_service(tmp_path, fetch_private_addresses=True) as service:
        asked = await _ask(service.client, receiver, "Where does she live?")
        await service.add_document("ada", "I live in Lisbon.")
        await receiver.until_received(1)
        await service.client.ok("PATCH", f"{PATH}/{asked['id']}", {"paused": True})
        await service.add_document("ada", "I live in Porto now.")
        await service.wait_idle()
    async with running_service(tmp_path, fetch_private_addresses=True) as service:
        assert (await _only_question(service.client))["status"] == "paused"
        assert (await run_replay(service))["state"] == "done"
        await service.client.ok("PATCH", f"{PATH}/{asked['id']}", {"paused": False})
        told = await receiver.until_received(2)
        assert ["Porto" in body["memories"][0]["memory"] for body in told] == [False, True]
        await service.add_document("ada", "I live in Braga now.")
        assert len(await receiver.until_received(3)) == 3
    assert all(is_signed(asked["secret"], receiver.attempts[at], receiver.raw[at]) for at in range(3))


async def test_a_changed_receiver_and_a_new_secret_count_at_once(
    service: RunningService, receiver: WebhookReceiver
) -> None:
    receiver.mood = "refuses"
    asked = await _ask(service.client, receiver, "Where does she live?")
    await service.add_document("ada", "I live in Lisbon.")
    await receiver.until_tried(1)
    rotated = await service.client.ok("POST", f"{PATH}/{asked['id']}/rotate")
    async with webhook_receiver() as other:
        await service.client.ok("PATCH", f"{PATH}/{asked['id']}", {"url": other.url})
        await other.until_received(1)
        assert is_signed(rotated["secret"], other.attempts[0], other.raw[0])
        assert not is_signed(asked["secret"], other.attempts[0], other.raw[0])


async def test_a_test_is_signed_and_says_what_went_wrong(service: RunningService, receiver: WebhookReceiver) -> None:
    asked = await _ask(service.client, receiver, "Where does she live?")
    path = f"{PATH}/{asked['id']}/test"
    assert await service.client.ok("POST", path) == {"delivered": True, "error": None}
    assert receiver.received[0]["type"] == "question.test"
    assert is_signed(asked["secret"], receiver.attempts[0], receiver.raw[0])
    receiver.mood = "refuses"
    tried = await service.client.ok("POST", path)
    assert tried == {"delivered": False, "error": "The receiver answered 500."}


async def test_a_revoked_key_is_told_nothing_more(service: RunningService, receiver: WebhookReceiver) -> None:
    key = await service.client.ok("POST", "/admin/keys", {"name": "app", "namespaces": ["ada"]})
    await _ask(service.client.as_key(key["key"]), receiver, "Where does she live?")
    await service.client.ok("DELETE", f"/admin/keys/{key['id']}")
    await service.add_document("ada", "I live in Lisbon.")
    await service.wait_idle()
    stopped = await _until_question(service.client, status="stopped")
    assert "revoked" in stopped["error"]
    assert not receiver.attempts


async def test_a_receiver_ends_with_the_key_that_named_it(service: RunningService, receiver: WebhookReceiver) -> None:
    """Else a key could turn another's question to itself, and hear on after it is revoked."""
    asked = await _ask(service.client, receiver, "Where does she live?")
    key = await service.client.ok("POST", "/admin/keys", {"name": "app", "namespaces": ["ada"]})
    async with webhook_receiver() as other:
        await service.client.as_key(key["key"]).ok("PATCH", f"{PATH}/{asked['id']}", {"url": other.url})
        await service.client.ok("DELETE", f"/admin/keys/{key['id']}")
        await service.add_document("ada", "I live in Lisbon.")
        await service.wait_idle()
        await _until_question(service.client, status="stopped")
        assert not other.attempts
        assert not receiver.attempts


async def test_a_secret_in_a_receivers_address_is_sent_there_and_shown_nowhere(
    tmp_path: Path, receiver: WebhookReceiver
) -> None:
    async with running_service(tmp_path, fetch_private_addresses=True) as service:
        reader = await service.client.ok("POST", "/admin/keys", {"name": "r", "role": "read", "namespaces": ["ada"]})
        body = {"query": "Where does she live?", "url": f"{receiver.url}?token=s3cretvalue"}
        asked = await service.client.ok("POST", PATH, body)
        assert asked["url"] == f"{receiver.url}?token=***"
        await service.client.ok("PATCH", f"{PATH}/{asked['id']}", {"url": f"{receiver.url}?a=1&sig=s3cretvalue"})
        rotated = await service.client.ok("POST", f"{PATH}/{asked['id']}/rotate")
        await service.add_document("ada", "I live in Lisbon.")
        await receiver.until_received(1)
        assert receiver.paths[-1] == "/hook?a=1&sig=s3cretvalue"
        assert is_signed(rotated["secret"], receiver.attempts[-1], receiver.raw[-1])
        (shown,) = (await service.client.as_key(reader["key"]).ok("GET", PATH))["questions"]
        assert shown["url"] == f"{receiver.url.removesuffix('/hook')}/…"
        listed, audited = [str(await service.client.ok("GET", path)) for path in (PATH, "/admin/audit")]
        assert "sig=***" in listed
        assert "s3cretvalue" not in listed + audited
        # The audit log is kept longer than the question, whose path may be a secret too.
        assert receiver.url.removesuffix("/hook") in audited
        assert "/hook" not in audited
    assert b"s3cretvalue" not in bytes_on_disk(tmp_path)


async def test_slow_receivers_of_one_key_leave_room_for_others(
    service: RunningService, receiver: WebhookReceiver
) -> None:
    async with webhook_receiver() as slow:
        slow.mood = "hangs"
        key = await service.client.ok("POST", "/admin/keys", {"name": "slow", "namespaces": ["ada"]})
        for number in range(12):
            await _ask(service.client.as_key(key["key"]), slow, f"Where does she live? {number}", threshold=0.0)
        await service.add_document("ada", "I live in Lisbon.")
        await slow.until_tried(question_notifier.MAX_CONCURRENT_PER_KEY)
        await service.client.ok(
            "POST", "/ns/ben/explain/questions", {"query": "Where does he live?", "url": receiver.url}
        )
        await service.add_document("ben", "I live in Porto.")
        await receiver.until_received(1)
        assert len(slow.attempts) == question_notifier.MAX_CONCURRENT_PER_KEY
        id_ = (await service.client.ok("GET", PATH))["questions"][0]["id"]
        first = asyncio.create_task(service.client.ok("POST", f"{PATH}/{id_}/test"))
        await slow.until_tried(question_notifier.MAX_CONCURRENT_PER_KEY + 1)
        second = await service.client.ok("POST", f"{PATH}/{id_}/test")
        assert "under way" in second["error"]
        first.cancel()


async def test_a_deleted_question_is_gone_with_its_words(service: RunningService, receiver: WebhookReceiver) -> None:
    asked = await _ask(service.client, receiver, "Where does the zebra live?")
    await service.client.ok("DELETE", f"{PATH}/{asked['id']}")
    assert (await service.client.ok("GET", PATH))["questions"] == []
    await service.client.ok("POST", "/admin/erasures", {})
    records = [record.content async for record in service.pipeline.resources.bus.read("questions.recorded.v1")]
    assert records
    assert not any(b"zebra" in content for content in records)
    await service.client.fails(404, "DELETE", f"{PATH}/{asked['id']}")


async def test_the_questions_of_a_namespace_are_limited(
    service: RunningService, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.routes.extensions.question_routes.MAX_QUESTIONS", 1)
    assert MAX_QUESTIONS > 1
    await _ask(service.client, receiver, "Where does she live?")
    await service.client.fails(409, "POST", PATH, {"query": "Where?", "url": receiver.url})


async def test_private_addresses_and_addresses_that_are_none_are_refused(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        for url in ("http://127.0.0.1:9/hook", "http://169.254.169.254/", "ftp://example.org/", "https://a:b@1.1.1.1/"):
            refused = await service.client.fails(400, "POST", PATH, {"query": "Where?", "url": url})
            assert refused["error"] == "Nothing can be sent to this URL"


async def test_secrets_follow_a_new_encryption_key(tmp_path: Path, receiver: WebhookReceiver) -> None:
    old, new = generate_key(), generate_key()
    options: dict[str, Any] = {"fetch_private_addresses": True}
    async with running_service(tmp_path, secret_key=old, **options) as service:
        asked = await _ask(service.client, receiver, "Where does she live?")
    async with running_service(tmp_path, secret_key=f"{new},{old}", **options) as service:
        await service.add_document("ada", "I live in Lisbon.")
        await receiver.until_received(1)
    async with running_service(tmp_path, secret_key=new, **options) as service:
        await service.add_document("ada", "I live in Porto now.")
        await receiver.until_received(2)
    assert is_signed(asked["secret"], receiver.attempts[1], receiver.raw[1])


async def test_rotating_credentials_encrypts_the_secrets_of_questions_too(
    tmp_path: Path, receiver: WebhookReceiver
) -> None:
    old, new = generate_key(), generate_key()
    options: dict[str, Any] = {"fetch_private_addresses": True, "run_stages_here": False}
    async with running_service(tmp_path, secret_key=old, **options) as service:
        asked = await _ask(service.client, receiver, "Where does she live?")
    rotate = ("POST", "/admin/connectors/rotate-credentials")
    async with running_service(tmp_path, secret_key=new, **options) as service:
        assert await service.client.ok(*rotate) == {"rotated": 0, "unreadable": [asked["id"]]}
    async with running_service(tmp_path, secret_key=f"{new},{old}", **options) as service:
        assert await service.client.ok(*rotate) == {"rotated": 1, "unreadable": []}
        assert await service.client.ok(*rotate) == {"rotated": 0, "unreadable": []}
