"""The feed of a namespace: what it tells, in which order, to whom, and how it goes on after a break."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from api.feed import event_reader, feed_history, feed_subscription
from api.feed.feed_events import to_feed_event
from tests.support.asgi_server import serve_app
from tests.support.feed_listener import FeedListener, HeardEvent, listening
from tests.support.generation_rows import run_replay
from tests.support.service_world import RunningService, running_service
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[tuple[RunningService, str]]:
    """A service and its address."""
    async with running_service(tmp_path) as service, serve_app(service.app) as address:
        yield service, address


def _names(heard: list[HeardEvent]) -> list[str]:
    return [event.name for event in heard]


def _is(name: str, document: str | None = None) -> object:
    return lambda event: event.name == name and document in (None, event.data.get("id"))


async def _until_settled(listener: FeedListener, document: str) -> list[HeardEvent]:
    """Everything up to the end of a document's processing."""
    return await listener.until(
        lambda event: event.name in ("document.done", "document.failed") and event.data["id"] == document
    )


async def test_a_document_is_told_from_the_queue_to_its_memories(world: tuple[RunningService, str]) -> None:
    service, address = world
    async with listening(address, "alice") as listener:
        await service.add_document("alice", "I live in Lisbon.", id="said")
        heard = await listener.until(lambda event: event.name == "memories.formed")
        heard += [] if "document.done" in _names(heard) else await _until_settled(listener, "said")
    assert _names(heard)[:2] == ["document.queued", "document.extracted"]
    assert sorted(_names(heard)[2:]) == ["document.done", "memories.formed"]
    (formed,) = (event.data for event in heard if event.name == "memories.formed")
    assert [memory["memory"] for memory in formed["created"]] == ["User lives in Lisbon"]
    assert formed["document"] == "said"
    assert len({event.id for event in heard}) == len(heard)


async def test_a_memory_is_found_once_it_is_told_and_names_what_it_replaced(world: tuple[RunningService, str]) -> None:
    service, address = world
    async with listening(address, "alice") as listener:
        await service.add_document("alice", "I live in Lisbon.", date="2026-01-01")
        first = (await listener.until(lambda event: event.name == "memories.formed"))[-1].data["created"][0]
        await service.add_document("alice", "I moved to Porto. I now live in Porto.", date="2026-06-01")
        formed = (await listener.until(lambda event: event.name == "memories.formed"))[-1].data
        listed = {item["memory"] for item in await service.list_items("alice", "memories")}
    assert {memory["memory"] for memory in formed["created"] if memory["isLatest"]} <= listed
    (replaced,) = formed["replaced"]
    assert replaced["memory"] == first["memory"]
    assert replaced["replacedBy"] in {memory["id"] for memory in formed["created"]}


async def test_what_a_text_repeats_is_not_told_as_new(world: tuple[RunningService, str]) -> None:
    service, address = world
    async with listening(address, "alice") as listener:
        await service.add_document("alice", "I live in Lisbon.", id="one")
        await listener.until(lambda event: event.name == "memories.formed")
        await service.add_document("alice", "I live in Lisbon.", id="two")
        await service.add_document("alice", "My sister is called Inês.", id="three")
        heard = await listener.until(lambda event: event.name == "memories.formed")
    assert heard[-1].data["document"] == "three"


async def test_forgetting_deleting_and_failing_are_told(world: tuple[RunningService, str]) -> None:
    service, address = world
    async with listening(address, "alice") as listener:
        await service.add_document("alice", "I live in Lisbon.", id="said")
        formed = (await listener.until(lambda event: event.name == "memories.formed"))[-1].data
        memory = formed["created"][0]
        await service.client.ok("DELETE", "/ns/alice/memories", {"ids": [memory["id"]]})
        forgotten = (await listener.until(lambda event: event.name == "memories.forgotten"))[-1].data
        await service.delete_documents("alice", "said")
        await listener.until(lambda event: event.name == "document.deleted")
        upload = {"file": ("broken.pdf", b"%PDF-1.4 nothing else", "application/pdf")}
        broken = await service.client.ok("POST", "/ns/alice/document/file", files=upload)
        failed = (await _until_settled(listener, broken["id"]))[-1]
    assert forgotten["forgotten"] == [{"id": memory["id"], "memory": memory["memory"]}]
    assert failed.name == "document.failed"
    assert failed.data["error"]


async def test_a_break_loses_and_repeats_nothing(world: tuple[RunningService, str]) -> None:
    service, address = world
    documents = [f"note-{number}" for number in range(12)]
    async with listening(address, "alice") as steady:
        async with listening(address, "alice") as first:
            await service.add_document("alice", "I live in Lisbon.", id=documents[0])
            before = await first.until(lambda event: event.name == "document.queued")
        for number, document in enumerate(documents[1:]):
            await service.add_document("alice", f"My cat number {number} is called Tom{number}.", id=document)
            await service.add_document("somebody-else", f"Not for alice, {number}.", id=document)
        await service.wait_idle()
        async with listening(address, "alice", after=before[-1].id) as second:
            await service.add_document("alice", "The last one.", id="last")
            after = await _until_settled(second, "last")
        expected = await _until_settled(steady, "last")
    assert sorted(_told(before + after)) == sorted(_told(expected))
    assert len(set(_told(expected))) == len(_told(expected))
    for document in documents:
        assert _names([event for event in before + after if event.data.get("id") == document]) == [
            "document.queued",
            "document.extracted",
            "document.done",
        ]


def _told(heard: list[HeardEvent]) -> list[tuple[str, str]]:
    return [(event.name, str(event.data)) for event in heard]


async def test_a_listener_that_falls_behind_reads_the_log_and_hears_everything_once(
    world: tuple[RunningService, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_subscription, "MAX_QUEUED_EVENTS", 3)
    service, _ = world
    feed = service.app.state.recollect.state.feed
    async with feed.listen("alice", "key", None, lambda: True) as subscription:
        stream = subscription.stream()
        await anext(stream)
        documents = [await service.add_document("alice", f"Number {number}.") for number in range(20)]
        await service.wait_idle()
        queued: list[str] = []
        while len(queued) < len(documents):
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                events = (await anext(stream)).decode().split("\n\n")
            told = [event for event in events if "document.queued" in event]
            queued += [document for event in told for document in documents if document in event]
        await stream.aclose()
    assert queued == [document for document in documents if document in queued]
    assert sorted(queued) == sorted(documents)


async def test_what_comes_before_a_resumed_stream_is_read_does_not_hide_what_was_missed(
    world: tuple[RunningService, str],
) -> None:
    service, _ = world
    feed = service.app.state.recollect.state.feed
    async with feed.listen("alice", "key", None, lambda: True) as steady:
        cursor = (await anext(steady.stream())).decode().partition("id: ")[2].strip()
        await service.add_document("alice", "Missed.", id="missed")
        await service.wait_idle()
        async with feed.listen("alice", "key", cursor, lambda: True) as resumed:
            await service.add_document("alice", "Live.", id="live")
            await service.wait_idle()
            told = ""
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                async for frame in resumed.stream():
                    told += frame.decode()
                    if told.count("document.done") == 2:
                        break
    assert [told.count(f'"id":"{document}"') for document in ("missed", "live")] == [3, 3]


async def test_each_step_is_told_in_its_turn_where_the_feed_begins_while_documents_are_on_their_way(
    tmp_path: Path,
) -> None:
    documents = [f"note-{number}" for number in range(8)]
    async with running_service(tmp_path, run_stages_here=False) as service, serve_app(service.app) as address:
        async with listening(address, "alice") as listener:
            begun = listener.last_id
        for document in documents:
            await service.add_document("alice", f"The text of {document}.", id=document)
        # Nobody listened in the meantime: the process follows the log anew.
        async with listening(address, "alice", after=begun) as listener, _stages(service):
            heard = [event for _ in range(3 * len(documents)) if (event := await listener.next())]
    for document in documents:
        steps = _names([event for event in heard if event.data["id"] == document])
        assert steps == ["document.queued", "document.extracted", "document.done"], document


@asynccontextmanager
async def _stages(service: RunningService) -> AsyncIterator[None]:
    running = asyncio.create_task(service.supervisor.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_listeners_that_resume_together_share_one_reading_of_the_log(
    world: tuple[RunningService, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, _ = world
    feed = service.app.state.recollect.state.feed
    begun = (await _frames(feed, 0))[1]
    for number in range(4):
        await service.add_document("alice", f"Number {number}.", id=f"n{number}")
    await service.wait_idle()
    built: list[tuple[str, int, int]] = []

    async def counted(source: Any, record: Any, tables: Any) -> Any:
        built.append((source.name, record.partition, record.log_offset))
        return await to_feed_event(source, record, tables)

    monkeypatch.setattr("api.feed.event_reader.to_feed_event", counted)
    async with feed.listen("alice", "other", None, lambda: True):  # the process follows the log all the time
        told = await asyncio.gather(*(_frames(feed, 12, begun) for _ in range(10)))
        halfway = told[0][0].split("\n\n")[6].partition("id: ")[2].split("\n")[0]
        rest, _ = await _frames(feed, 6, halfway)
    assert [text.count("data: ") for text, _ in told] == [12] * 10
    assert rest.count("data: ") == 6
    assert len(built) == len(set(built))


async def test_what_was_deleted_is_not_told_from_what_others_heard_before(world: tuple[RunningService, str]) -> None:
    service, _ = world
    feed = service.app.state.recollect.state.feed
    begun = (await _frames(feed, 0))[1]
    await service.add_document("alice", "I live in Lisbon.", id="said")
    await service.wait_idle()
    async with feed.listen("alice", "other", None, lambda: True) as witness:
        before, _ = await _frames(feed, 4, begun)
        await service.delete_documents("alice", "said")
        stream = witness.stream()
        while b"document.deleted" not in await anext(stream):
            pass
        await service.wait_idle()
        after, _ = await _frames(feed, 3, begun)
    assert "Lisbon" in before
    assert "document.deleted" in after
    assert "Lisbon" not in after


async def test_only_who_may_read_hears_and_only_as_long(world: tuple[RunningService, str]) -> None:
    service, address = world
    issued = await service.client.ok("POST", "/admin/keys", {"name": "reader", "role": "read", "namespaces": ["alice"]})
    with pytest.raises(AssertionError, match="403"):
        async with listening(address, "bob", key=issued["key"]):
            pass
    async with listening(address, "alice", key=issued["key"]) as listener:
        await service.client.ok("DELETE", f"/admin/keys/{issued['id']}")
        await service.add_document("alice", "A secret.", id="secret")
        assert await listener.next() is None


async def test_a_cursor_that_is_none_is_refused(world: tuple[RunningService, str]) -> None:
    _, address = world
    with pytest.raises(AssertionError, match=r"400.*Last-Event-ID"):
        async with listening(address, "alice", after="not-a-cursor"):
            pass


async def test_the_number_of_listeners_of_a_key_is_bounded(world: tuple[RunningService, str]) -> None:
    service, _ = world
    feed = service.app.state.recollect.state.feed
    async with AsyncExitStack() as open_feeds:
        for _number in range(64):
            await open_feeds.enter_async_context(feed.listen("alice", "key", None, lambda: True))
        with pytest.raises(Exception, match="More than 64 feeds"):
            await open_feeds.enter_async_context(feed.listen("alice", "key", None, lambda: True))
        await open_feeds.enter_async_context(feed.listen("alice", "another", None, lambda: True))


async def test_keys_that_a_key_issued_share_its_places(
    world: tuple[RunningService, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, address = world
    monkeypatch.setattr("api.feed.feed_hub.MAX_LISTENERS_PER_KEY", 2)
    admin = {"name": "lead", "role": "admin", "namespaces": ["alice"]}
    lead = service.client.as_key((await service.client.ok("POST", "/admin/keys", admin))["key"])
    child = {"name": "child", "role": "admin", "namespaces": ["alice"]}
    first = (await lead.ok("POST", "/admin/keys", child))["key"]
    second = (await lead.as_key(first).ok("POST", "/admin/keys", child | {"role": "read"}))["key"]
    async with AsyncExitStack() as open_feeds:
        for key in (first, second):
            await open_feeds.enter_async_context(listening(address, "alice", key=key))
        for key in (first, second):
            with pytest.raises(AssertionError, match="429"):
                await open_feeds.enter_async_context(listening(address, "alice", key=key))
        await open_feeds.enter_async_context(listening(address, "alice"))


async def test_a_feed_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service, serve_app(service.app) as address:
        async with listening(address, "alice") as listener:
            begun = listener.last_id
        await service.add_document("alice", "I live in Lisbon.", id="said")
    async with (
        running_service(tmp_path) as service,
        serve_app(service.app) as address,
        listening(address, "alice", after=begun) as listener,
    ):
        heard = await _until_settled(listener, "said")
    assert "document.queued" in _names(heard)
    assert heard[-1].name == "document.done"


async def _frames(feed: Any, count: int, cursor: str | None = None, key: str = "key") -> tuple[str, str]:
    """So many events of a listener, and the last cursor."""
    told = ""
    async with feed.listen("alice", key, cursor, lambda: True) as listener, asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        async for frame in listener.stream():
            told += frame.decode()
            if told.count("data: ") >= count:
                break
    return told, told.rpartition("id: ")[2].split("\n")[0]


async def test_a_record_that_cannot_be_read_is_left_out_and_holds_up_no_others(
    world: tuple[RunningService, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_reader, "RETRY_SECONDS", 0.0)

    async def fails_on_one(source: Any, record: Any, tables: Any) -> Any:
        if getattr(record.event, "id", None) == "bad":  # events of memories have none
            raise ValueError("a row of an unknown kind")
        return await to_feed_event(source, record, tables)

    monkeypatch.setattr("api.feed.event_reader.to_feed_event", fails_on_one)
    service, address = world
    async with listening(address, "alice") as listener:
        await service.add_document("alice", "One.", id="bad")
        await service.add_document("alice", "Two.", id="good")
        heard = await _until_settled(listener, "good")
    assert {event.data["id"] for event in heard} == {"good"}


async def test_after_a_worker_died_new_listeners_hear_everything_though_an_old_one_stays(
    world: tuple[RunningService, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, _ = world
    feed = service.app.state.recollect.state.feed

    def breaks(*_: Any) -> None:
        raise KeyError("a fault of ours")

    async with feed.listen("alice", "key", None, lambda: True) as blocked:
        monkeypatch.setattr("api.feed.feed_hub.to_frame", breaks)
        await service.add_document("alice", "One.", id="one")
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            assert [frame async for frame in blocked.stream()]
        monkeypatch.setattr("api.feed.feed_hub.to_frame", feed_history.to_frame)
        async with feed.listen("alice", "key", None, lambda: True) as fresh:
            stream = fresh.stream()
            await anext(stream)
            await service.add_document("alice", "Two.", id="two")
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                told = (await anext(stream)).decode()
            await stream.aclose()
    assert "two" in told or "one" in told


async def test_a_resumed_listener_reads_the_log_in_parts_sends_heartbeats_and_can_be_ended(
    world: tuple[RunningService, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_history, "PART_EVENTS", 2)
    service, _ = world
    feed = service.app.state.recollect.state.feed
    begun = (await _frames(feed, 0))[1]
    for number in range(4):
        await service.add_document("alice", f"Number {number}.", id=f"n{number}")
    await service.wait_idle()
    told, _ = await _frames(feed, 12, begun)
    assert [told.count(f'"id":"n{number}"') for number in range(4)] == [3, 3, 3, 3]
    monkeypatch.setattr(feed_subscription, "HEARTBEAT_SECONDS", 0.0)
    for _place in range(feed_history.MAX_READS):
        await feed.history.reads.acquire()
    feed.history.withdraw()
    async with feed.listen("alice", "key", begun, lambda: True) as waiting, asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        stream = waiting.stream()
        await anext(stream)
        assert (await anext(stream)).startswith(b": heartbeat")
        monkeypatch.setattr(feed_subscription, "HEARTBEAT_SECONDS", 60.0)
        ended = asyncio.create_task(_read_to_the_end(stream))
        await asyncio.sleep(0)
        waiting.close()
        await ended


async def _read_to_the_end(stream: AsyncIterator[bytes]) -> None:
    async for _ in stream:
        pass


async def test_the_log_is_not_asked_again_for_each_document_that_was_processed(
    world: tuple[RunningService, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, _ = world
    feed = service.app.state.recollect.state.feed
    begun = (await _frames(feed, 0))[1]
    documents = [{"id": f"n{number}", "content": f"Number {number}."} for number in range(40)]
    async with feed.listen("alice", "other", None, lambda: True):
        asked: list[str] = []
        ends = feed._bus.end_offsets
        await service.client.ok("POST", "/ns/alice/document/batch", {"documents": documents})
        await service.wait_idle()

        async def counted(topic: str) -> Any:
            asked.append(topic)
            return await ends(topic)

        feed.reader.progress._handled.clear()
        monkeypatch.setattr(feed._bus, "end_offsets", counted)
        await _frames(feed, 3 * len(documents), begun)
    assert len(asked) < len(documents)


async def test_a_feed_tells_what_is_new_after_a_replay(world: tuple[RunningService, str]) -> None:
    service, address = world
    await service.add_document("alice", "I live in Lisbon.")
    assert (await run_replay(service))["state"] == "done"
    async with listening(address, "alice") as listener:
        await service.add_document("alice", "I play the cello.", id="said")
        await _until_settled(listener, "said")
