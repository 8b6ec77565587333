"""Runs as such: whatever happens at the source, wherever they are cut off, documents end as the source is."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.client.http_client import HttpClient, HttpClients
from connectors.errors import CursorExpiredError, ProviderUnavailableError
from connectors.provider_interface import Connection, Provider
from connectors.sync.item_submission import document_id
from connectors.sync.sync_runner import SyncRunner
from connectors.sync_messages import (
    Checkpoint,
    Cursor,
    FailedItem,
    ItemFile,
    ProviderState,
    RemovedItem,
    SourceItem,
    SyncMessage,
    SyncState,
    UnlistablePrefix,
)
from pipeline.ports import Position
from pipeline.runtime.local_locks import LocalLease
from pipeline.store.tables.connector_state_table import ConnectorStateStore
from schemas.base import Event
from schemas.events import ConnectorChanged, DocumentSubmitted, SyncReported
from schemas.topics import Topic
from tests.support.fakes import EPOCH, FakeBlobs, FixedClock

E = TypeVar("E", bound=Event)
MANY = 10_000
Action = tuple[Any, ...]


class KilledError(BaseException):
    """The process is gone."""


class ScriptedProvider(Provider):
    """A source in a dictionary, newest first in a listing, with a history; it can be cut off at any step."""

    name = "granola"
    api_origins = frozenset[str]()

    def __init__(self) -> None:
        self.items: dict[str, int] = {}
        self.history: list[str] = []
        self.cut_after: int | None = None
        self.cut_by: type[BaseException] = KilledError
        self.steps = 0
        self.fetched = 0

    def put(self, key: str) -> None:
        self.history.append(key)
        self.items[key] = len(self.history)

    def remove(self, key: str) -> None:
        if self.items.pop(key, None) is not None:
            self.history.append(key)

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        if cursor is None or "after" in cursor:
            async for step in self._listed(cursor, state):
                yield self._stepped(step)
            return
        since = int(str(cursor["since"]))
        for key in dict.fromkeys(self.history[since:]):
            yield self._stepped(RemovedItem(key) if key not in self.items else self._item(key))
        yield self._stepped(Checkpoint({"since": len(self.history)}))

    async def _listed(self, cursor: Cursor | None, known: SyncState) -> AsyncIterator[SyncMessage]:
        newest = sorted(self.items, key=lambda key: -self.items[key])
        start, now = (0, len(self.history)) if cursor is None else (int(str(cursor["after"])), cursor["now"])
        for at in range(start, len(newest), 3):
            page = newest[at : at + 3]
            wanted = await known.select_changed([(key, str(self.items[key])) for key in page])
            for key in page:
                if key in wanted:
                    self.fetched += 1
                    yield self._item(key)
            yield Checkpoint({"after": at + 3, "now": now})
        yield Checkpoint({"since": now})

    def _item(self, key: str) -> SourceItem:
        return SourceItem(key, str(self.items[key]), key, text=f"{key} as of {self.items[key]}")

    def _stepped(self, step: SyncMessage) -> SyncMessage:
        self.steps += 1
        if self.cut_after is not None and self.steps > self.cut_after:
            self.cut_after = None
            raise self.cut_by("cut off")
        return step


class DocumentStoreDouble:
    """A publisher that does to documents what the pipeline does."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.events: list[DocumentSubmitted] = []

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        for _, event in entries:
            assert isinstance(event, DocumentSubmitted)
            self.events.append(event)
            if event.operation == "delete":
                self.texts.pop(event.id, None)
            elif event.content is not None:
                self.texts[event.id] = event.content.text or ""
        return [Position(0, number) for number, _ in enumerate(entries)]

    async def ids_with_prefix(self, incarnation: str, prefix: str) -> list[str]:
        """As the documents table says them."""
        assert incarnation == "alice#0"
        return sorted(id_ for id_ in self.texts if id_.startswith(prefix))


class FakeDocumentQuota:
    """An allowance of so many documents; None: any number."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.counted = 0

    def check(self, api_key_id: str | None, documents: int) -> str | None:
        assert api_key_id == "a-key"
        return None if self.left is None or documents <= self.left else "Used up."

    def record_documents(self, api_key_id: str | None, documents: int) -> None:
        assert api_key_id == "a-key"
        self.counted += documents
        if self.left is not None:
            self.left -= documents


class SyncHarness:
    """A connector whose runs one calls."""

    def __init__(self, states: ConnectorStateStore, provider: Provider) -> None:
        self.states = states
        self.provider = provider
        self.documents = DocumentStoreDouble()
        self.month = FakeDocumentQuota()
        self.clock = FixedClock()
        self.reports: list[SyncReported] = []
        self.number = 0
        self.row = ConnectorChanged(
            id="con_1",
            provider="granola",
            incarnation="alice#0",
            status="active",
            document_limit=MANY,
            created_by_key="a-key",
            created_at=EPOCH,
            updated_at=EPOCH,
        )

    async def run(self, *, full: bool = False, again: bool = False) -> SyncReported:
        """A new run, or the one that was cut off."""
        self.number += not again
        asked = SyncReported(
            connector="con_1",
            run_id=f"run_{self.number}",
            trigger="manual",
            status="running",
            started_at=EPOCH,
            full=full,
        )
        async with self.states.open_state("con_1") as state:
            runner = SyncRunner(
                publisher=self.documents,
                blobs=FakeBlobs(),
                clock=self.clock,
                report=self._reported,
                document_ids=self.documents.ids_with_prefix,
                quota=self.month,
                row=self.row,
                requested_run=asked,
                provider=self.provider,
                state=state,
                lease=LocalLease(),
            )
            return await runner.run(self._connected)

    def limit(self, documents: int) -> None:
        update = {"document_limit": documents, "selection_revision": self.row.selection_revision + 1}
        self.row = self.row.model_copy(update=update)

    def ids(self, keys: Sequence[str]) -> set[str]:
        return {document_id(self.row, key) for key in keys}

    async def _reported(self, _: ConnectorChanged, report: SyncReported) -> None:
        self.reports.append(report)

    async def _connected(self) -> Connection:
        clients = HttpClients.open()
        await clients.aclose()
        return Connection("con_1", HttpClient(clients, api_origins=frozenset()))


_KEYS = st.sampled_from([*(f"k{number}" for number in range(11)), "x" * 300])
_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), _KEYS),
        st.tuples(st.just("remove"), _KEYS),
        st.tuples(st.just("limit"), st.integers(1, 14)),
        st.tuples(st.just("run"), st.booleans()),
        st.tuples(st.just("lose")),
        st.tuples(st.just("cut"), st.integers(0, 12), st.sampled_from([KilledError, ProviderUnavailableError])),
        st.tuples(st.just("allow"), st.integers(0, 6)),
    ),
    max_size=14,
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(_ACTIONS)
def test_after_a_complete_listing_documents_are_the_first_of_the_source(actions: list[Action]) -> None:
    async def play() -> None:
        with tempfile.TemporaryDirectory() as folder:
            world = ScriptedProvider()
            bench = SyncHarness(await ConnectorStateStore.open(folder), world)
            for action in actions:
                await _act(bench, world, action)
            await bench.run()
            report = await bench.run(full=True)
            newest = sorted(world.items, key=lambda key: -world.items[key])[: bench.row.document_limit]
            assert bench.documents.texts == {
                document_id(bench.row, key): f"{key} as of {world.items[key]}" for key in newest
            }
            assert (report.status, report.documents) == ("completed", len(newest))
            assert report.over_limit == len(world.items) - len(newest)
            contents = [event for event in bench.documents.events if event.content is not None]
            assert bench.month.counted == len(contents)

    asyncio.run(play())


async def _act(bench: SyncHarness, world: ScriptedProvider, action: Action) -> None:
    match action:
        case ("put", key):
            world.put(key)
        case ("remove", key):
            world.remove(key)
        case ("limit", documents):
            bench.limit(documents)
        case ("lose",):
            await bench.states.delete_state("con_1")
        case ("run", full):
            await bench.run(full=full)
            assert len(bench.documents.texts) <= max(bench.row.document_limit, bench.reports[-1].documents)
        case ("allow", documents):
            before, bench.month.left = bench.month.counted, documents
            report = await bench.run()
            assert bench.month.counted - before <= documents
            assert report.error_code == (None if report.status == "completed" else "plan_required")
            bench.month.left = None
        case ("cut", steps, by):
            world.steps, world.cut_after, world.cut_by = 0, steps, by
            try:
                report = await bench.run()
            except KilledError:
                await bench.run(again=True)
            else:
                assert report.status == ("failed" if world.steps > steps else "completed")
            world.cut_after = None


@pytest.fixture
async def states(tmp_path: Path, anyio_backend: str) -> ConnectorStateStore:
    return await ConnectorStateStore.open(str(tmp_path))


@pytest.mark.anyio
async def test_without_a_limit_changes_alone_keep_documents_as_the_source_is(
    states: ConnectorStateStore,
) -> None:
    world = ScriptedProvider()
    bench = SyncHarness(states, world)
    for number in range(7):
        world.put(f"k{number}")
    await bench.run()
    world.put("k3")
    world.remove("k4")
    world.put("new")
    before = len(bench.documents.events)
    report = await bench.run()
    assert (report.full, report.processed) == (False, 3)
    assert len(bench.documents.events) == before + 3
    assert bench.documents.texts.keys() == bench.ids(list(world.items))
    assert (await bench.run()).processed == 0


@pytest.mark.anyio
async def test_a_run_that_goes_on_counts_on(states: ConnectorStateStore) -> None:
    world = ScriptedProvider()
    bench = SyncHarness(states, world)
    for number in range(10):
        world.put(f"k{number}")
    world.cut_after = 6
    with pytest.raises(KilledError):
        await bench.run()
    fetched = world.fetched
    report = await bench.run(again=True)
    assert (report.processed, report.documents) == (10, 10)
    assert world.fetched - fetched <= 10 - 3


@pytest.mark.anyio
async def test_a_run_without_quota_takes_what_it_may_and_the_next_goes_on_from_there(
    states: ConnectorStateStore,
) -> None:
    world = ScriptedProvider()
    bench = SyncHarness(states, world)
    for number in range(10):
        world.put(f"k{number}")
    bench.month.left = 7
    report = await bench.run()
    assert (report.status, report.error_code, report.error) == ("failed", "plan_required", "Used up.")
    assert len(bench.documents.texts) == 7
    bench.month.left = 3
    report = await bench.run()
    assert (report.status, report.documents) == ("completed", 10)
    assert len(bench.documents.events) == 10, "each came in once"


@pytest.mark.anyio
async def test_what_goes_needs_no_quota(states: ConnectorStateStore) -> None:
    world = ScriptedProvider()
    bench = SyncHarness(states, world)
    world.put("one")
    world.put("two")
    await bench.run()
    bench.month.left = 0
    world.remove("one")
    assert (await bench.run()).status == "completed"
    assert bench.documents.texts.keys() == bench.ids(["two"])
    assert (await bench.run(full=True)).status == "completed"


@pytest.mark.anyio
async def test_everything_is_listed_again_from_time_to_time(states: ConnectorStateStore) -> None:
    world = ScriptedProvider()
    bench = SyncHarness(states, world)
    world.put("one")
    assert (await bench.run()).full
    assert not (await bench.run()).full
    bench.clock.moment += world.full_sync_interval + timedelta(seconds=1)
    world.items.clear()  # a deletion that no history tells of
    report = await bench.run()
    assert (report.full, report.documents) == (True, 0)
    assert not bench.documents.texts


class FixedScriptProvider(ScriptedProvider):
    """Yields what it is told to."""

    def __init__(self, *steps: SyncMessage | Exception) -> None:
        super().__init__()
        self.script = steps

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        for step in self.script:
            if isinstance(step, Exception):
                raise step
            yield step


@pytest.mark.anyio
async def test_what_could_not_be_listed_is_kept(states: ConnectorStateStore) -> None:
    bench = SyncHarness(
        states,
        FixedScriptProvider(SourceItem("a/1", "1", "A", "a"), SourceItem("b/1", "1", "B", "b"), Checkpoint({})),
    )
    await bench.run()
    bench.provider = FixedScriptProvider(UnlistablePrefix("a/"), Checkpoint({}))
    await bench.run(full=True)
    assert bench.documents.texts.keys() == bench.ids(["a/1"])
    bench.provider = FixedScriptProvider(Checkpoint({}))
    await bench.run(full=True)
    assert not bench.documents.texts


@pytest.mark.anyio
async def test_what_nobody_knows_any_more_goes_with_a_complete_listing(states: ConnectorStateStore) -> None:
    items = [SourceItem(id_, "1", id_, id_) for id_ in ("a/1", "b/1", "b/2", "c" * 300, "d" * 300)]
    bench = SyncHarness(states, FixedScriptProvider(*items, Checkpoint({})))
    await bench.run()
    bench.documents.texts["granola:con_2:b/1"] = "another connector's"
    await states.delete_state("con_1")
    bench.provider = FixedScriptProvider(
        UnlistablePrefix("a/"), FailedItem("b/2", "It is locked."), items[3], Checkpoint({})
    )
    await bench.run()
    assert bench.ids(["b/1"]).isdisjoint(bench.documents.texts)
    # What could not be listed stays, and so does what may be of it.
    assert bench.ids(["a/1", "b/2", "c" * 300, "d" * 300]) < bench.documents.texts.keys()
    bench.provider = FixedScriptProvider(items[3], Checkpoint({}))
    await bench.run(full=True)
    assert bench.documents.texts.keys() == {*bench.ids(["c" * 300]), "granola:con_2:b/1"}


@pytest.mark.anyio
async def test_a_failure_keeps_the_document_and_the_reason(states: ConnectorStateStore) -> None:
    bench = SyncHarness(states, FixedScriptProvider(SourceItem("a", "1", "A", "a"), Checkpoint({})))
    await bench.run()
    bench.provider = FixedScriptProvider(FailedItem("a", "It is locked. Unlock it.", "A"), Checkpoint({}))
    report = await bench.run(full=True)
    assert (report.status, report.failed, report.documents) == ("completed", 1, 1)
    assert [(failure.document, failure.message) for failure in report.failures] == [
        (document_id(bench.row, "a"), "It is locked. Unlock it.")
    ]
    assert bench.documents.texts


@pytest.mark.anyio
async def test_a_slow_run_says_how_far_it_is_before_its_first_checkpoint(states: ConnectorStateStore) -> None:
    class Slow(FixedScriptProvider):
        async def sync(
            self, connection: Connection, cursor: Cursor | None, known: SyncState
        ) -> AsyncIterator[SyncMessage]:
            for number in range(3):
                bench.clock.advance(10)
                yield SourceItem(str(number), "1", "A", "a")
            yield Checkpoint({})

    bench = SyncHarness(states, Slow())
    await bench.run()
    assert [run.processed for run in bench.reports if run.status == "running"] == [0, 1, 2, 3]


@pytest.mark.anyio
async def test_what_can_be_no_document_is_a_failure(states: ConnectorStateStore) -> None:
    bench = SyncHarness(
        states,
        FixedScriptProvider(SourceItem("a", "1", None, " "), SourceItem("b", "1", "B", file=ItemFile(b"", "b.pdf"))),
    )
    report = await bench.run()
    assert (report.status, report.processed, report.failed) == ("completed", 2, 2)
    assert all("." in failure.message for failure in report.failures)


@pytest.mark.anyio
async def test_metadata_alone_does_not_send_the_text_again(states: ConnectorStateStore) -> None:
    bench = SyncHarness(
        states, FixedScriptProvider(SourceItem("a", "1", "A", "a", metadata={"path": "x"}), Checkpoint({}))
    )
    await bench.run()
    bench.provider = FixedScriptProvider(SourceItem("a", "2", "A", "a", metadata={"path": "y"}), Checkpoint({}))
    await bench.run(full=True)
    assert [(event.operation, event.content is None) for event in bench.documents.events] == [
        ("replace", False),
        ("patch", True),
    ]
    bench.provider = FixedScriptProvider(SourceItem("a", "3", "A", "a", metadata={}), Checkpoint({}))
    await bench.run(full=True)
    assert bench.documents.events[-1].operation == "replace", "a field that went is only cleared so"


@pytest.mark.anyio
async def test_notes_outlive_runs(states: ConnectorStateStore) -> None:
    seen: list[dict[str, str]] = []

    class Noting(FixedScriptProvider):
        async def sync(
            self, connection: Connection, cursor: Cursor | None, known: SyncState
        ) -> AsyncIterator[SyncMessage]:
            seen.append({key: value async for key, value in known.scan_provider_state("folder/")})
            yield ProviderState("folder/1", "parent")
            yield ProviderState("folder/2", "x" if cursor is None else None)
            seen.append(await known.provider_state(["folder/1", "folder/2", "folder/3"]))
            yield Checkpoint({"on": True})

    bench = SyncHarness(states, Noting())
    await bench.run()
    await bench.run()
    assert seen == [
        {},
        {"folder/1": "parent", "folder/2": "x"},
        {"folder/1": "parent", "folder/2": "x"},
        {"folder/1": "parent"},
    ]


@pytest.mark.anyio
async def test_a_providers_surprise_ends_its_run_and_tells_no_secret(
    states: ConnectorStateStore, caplog: pytest.LogCaptureFixture
) -> None:
    bench = SyncHarness(states, FixedScriptProvider(SourceItem("a", "1", "A", "a"), KeyError("planted-token")))
    report = await bench.run()
    assert (report.status, report.error_code) == ("failed", "internal")
    assert "planted-token" not in caplog.text + str(report.error)
    assert "KeyError" in caplog.text


@pytest.mark.anyio
async def test_cursors_that_never_hold_end_the_run(states: ConnectorStateStore) -> None:
    report = await SyncHarness(states, FixedScriptProvider(CursorExpiredError())).run()
    assert (report.status, report.error_code) == ("failed", "provider_unavailable")


def test_ids_of_documents_are_the_providers_or_their_hash() -> None:
    row = SyncHarness.__new__(SyncHarness)
    row.row = ConnectorChanged(
        id="con_1",
        provider="s3",
        incarnation="alice#0",
        status="active",
        document_limit=1,
        created_at=datetime.now(UTC),
        updated_at=datetime.now(UTC),
    )
    assert document_id(row.row, "s3://bucket/a key") == "s3:con_1:s3://bucket/a key"
    for strange in ("x" * 300, "line\nend", "nul\x00", "half \ud800"):
        hashed = document_id(row.row, strange)
        assert len(hashed) == len("s3:con_1:") + 32
        assert hashed == document_id(row.row, strange)
