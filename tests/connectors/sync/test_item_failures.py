"""Items that a provider can't serve: they fail by themselves, are kept, and are asked for again with growing pauses."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from connectors.errors import AuthExpiredError, ItemError, ProviderUnavailableError, UnexpectedAnswerError
from connectors.provider_interface import Connection, Provider
from connectors.providers.common.item_fetcher import ItemFetcher, item_response
from connectors.sync.sync_state import FailureRecord
from connectors.sync_messages import Checkpoint, Cursor, FailedItem, SourceItem, SyncMessage, SyncState
from pipeline.store.tables.connector_state_table import ConnectorStateRow, ConnectorStateStore
from tests.connectors.sync.test_sync_runner import SyncHarness
from tests.support.fakes import EPOCH

pytestmark = pytest.mark.anyio
ITEMS = 10_000
BROKEN = frozenset(f"k{number}" for number in range(0, ITEMS, 100))


class PartlyBrokenProvider(Provider):
    """A source with many items, of which some answer an error."""

    name = "granola"

    def __init__(self, ids: list[str], broken: dict[str, Exception]) -> None:
        self.ids = ids
        self.broken = broken
        self.asked: list[str] = []
        self.outage = False

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        fetcher = ItemFetcher("The source", self._probe)
        listed = self.ids if cursor is None else await state.retryable_failures()
        for at in range(0, len(listed), 500):
            wanted = await state.select_changed([(id_, "1") for id_ in listed[at : at + 500]])
            for id_ in listed[at : at + 500]:
                if id_ in wanted:
                    yield await fetcher.fetch(id_, id_, lambda id_=id_: self._read(id_))  # type: ignore[misc]  # bound
        yield Checkpoint({"done": True})

    async def _read(self, id_: str) -> SourceItem:
        self.asked.append(id_)
        if id_ in self.broken:
            raise self.broken[id_]
        return SourceItem(id_, "1", id_, f"Text of {id_}")

    async def _probe(self) -> None:
        if self.outage:
            raise ProviderUnavailableError("The source does not answer.")


@pytest.fixture
async def states(tmp_path: Path, anyio_backend: str) -> ConnectorStateStore:
    return await ConnectorStateStore.open(str(tmp_path))


async def test_all_other_items_of_ten_thousand_arrive_and_the_next_run_asks_for_the_failed_ones_only(
    states: ConnectorStateStore,
) -> None:
    ids = [f"k{number}" for number in range(ITEMS)]
    source = PartlyBrokenProvider(ids, {id_: ProviderUnavailableError("It answered 500.") for id_ in BROKEN})
    bench = SyncHarness(states, source)
    report = await bench.run()
    assert (report.status, report.documents, report.failed) == ("completed", ITEMS - len(BROKEN), len(BROKEN))
    assert bench.documents.texts.keys() == bench.ids(list(set(ids) - BROKEN))
    source.asked.clear()
    report = await bench.run()
    assert (report.status, report.failed, sorted(source.asked)) == ("completed", len(BROKEN), sorted(BROKEN))
    source.broken.clear()
    bench.clock.advance(3601)
    assert (await bench.run()).documents == ITEMS
    source.asked.clear()
    assert (await bench.run(full=True)).status == "completed"
    assert not source.asked


def test_pauses_between_attempts_double_up_to_a_week() -> None:
    record, hours = FailureRecord(), list[float]()
    for _ in range(12):
        record = FailureRecord.parse(ConnectorStateRow("failed", "a", value=str(record.failed_again(EPOCH))))
        assert record.due_at is not None
        hours.append((record.due_at - EPOCH) / timedelta(hours=1))
    assert hours == [0, 1, 2, 4, 8, 16, 32, 64, 128, 168, 168, 168]


async def test_a_pause_holds_across_runs_and_in_complete_listings(states: ConnectorStateStore) -> None:
    source = PartlyBrokenProvider(["a", "b"], {"b": ItemError("It is locked. Unlock it.", retryable=True)})
    bench = SyncHarness(states, source)
    asked: list[bool] = []
    for minutes in (0, 0, 0, 59, 1, 119, 1):
        bench.clock.advance(minutes * 60)
        source.asked.clear()
        await bench.run(full=bool(minutes))
        asked.append("b" in source.asked)
    assert asked == [True, True, False, False, True, False, True]


class PartlyReadProvider(Provider):
    """A source of whose only item the beginning can be read."""

    name = "notion"
    whole = False

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        if await state.select_changed([("a", "1")]):
            yield SourceItem("a", "1" if self.whole else "1 beginning", "a", "All." if self.whole else "Al")
            if not self.whole:
                yield FailedItem("a", "Only the beginning was read.", "a", "truncated")
        yield Checkpoint({})


async def test_what_was_read_in_part_is_kept_reported_and_read_again(states: ConnectorStateStore) -> None:
    source = PartlyReadProvider()
    bench = SyncHarness(states, source)
    report = await bench.run()
    assert ([failure.code for failure in report.failures], report.documents) == (["truncated"], 1)
    assert list(bench.documents.texts.values()) == ["Al"]
    assert (await bench.run(full=True)).failed == 1
    source.whole = True
    assert (await bench.run(full=True)).failed == 0
    assert list(bench.documents.texts.values()) == ["All."]
    assert (await bench.run(full=True)).processed == 0


async def test_a_failed_item_keeps_its_document_also_in_a_complete_listing(states: ConnectorStateStore) -> None:
    source = PartlyBrokenProvider(["a"], {})
    bench = SyncHarness(states, source)
    await bench.run()
    source.broken["a"] = ItemError("It is locked. Unlock it.")
    for _ in range(3):
        await bench.run(full=True)
    assert bench.documents.texts.keys() == bench.ids(["a"])


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (ItemError("It is too large. Split it.", code="too_large"), "too_large", False),
        (ProviderUnavailableError("It answered 500."), "unavailable", True),
        (UnexpectedAnswerError("It answered 418 to a request."), "unreadable", True),
        (KeyError("planted-secret"), "malformed", True),
        (TypeError("planted-secret"), "malformed", True),
    ],
)
async def test_an_error_of_one_item_becomes_its_failure(error: Exception, code: str, retryable: bool) -> None:
    source = PartlyBrokenProvider([], {"a": error})
    failure = await ItemFetcher("The source", source._probe).fetch("a", "A", lambda: source._read("a"))
    assert isinstance(failure, FailedItem)
    assert (failure.code, failure.retryable, failure.title) == (code, retryable, "A")
    assert "planted-secret" not in failure.message


async def test_an_error_of_the_account_ends_the_run(states: ConnectorStateStore) -> None:
    source = PartlyBrokenProvider(["a", "b"], {"b": AuthExpiredError("Connect again.")})
    report = await SyncHarness(states, source).run()
    assert (report.status, report.error_code, report.documents) == ("failed", "auth_expired", 1)


async def test_items_unavailable_in_a_row_end_the_run_only_if_the_provider_is_away(states: ConnectorStateStore) -> None:
    ids = [f"k{number}" for number in range(9)]
    source = PartlyBrokenProvider([*ids, "last"], {id_: ProviderUnavailableError("It answered 500.") for id_ in ids})
    bench = SyncHarness(states, source)
    report = await bench.run()
    assert (report.status, report.documents, report.failed) == ("completed", 1, 9)
    source.outage = True
    report = await bench.run(full=True)
    assert (report.status, report.error_code, report.documents) == ("failed", "provider_unavailable", 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 418, 500])
def test_the_reason_of_a_refused_item_names_the_provider_and_the_status(status: int) -> None:
    with pytest.raises(ItemError, match=rf"The source answered {status}: it .+\.") as raised:
        item_response(httpx2.Response(status), "The source")
    assert raised.value.retryable
    assert re.fullmatch(r"http_\d+", raised.value.code)
    assert item_response(httpx2.Response(200), "The source").status_code == 200
