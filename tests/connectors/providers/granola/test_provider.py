"""Granola: notes by their last change, and a daily look for those that went."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import pytest

from connectors.errors import AuthExpiredError, PlanRequiredError
from connectors.providers.granola.provider import Granola
from connectors.sync_messages import SourceItem
from tests.connectors.provider_contract import ConnectorContract, SourceDriver
from tests.support.connectors.in_memory_sync import UNLIMITED_RATE
from tests.support.connectors.provider_harness import ProviderHarness
from tests.support.providers.granola_double import GranolaDouble, NoteDouble
from tests.support.providers.provider_double import DoubleResponse

pytestmark = pytest.mark.anyio


@pytest.fixture
def granola() -> Iterator[GranolaDouble]:
    double = GranolaDouble()
    yield double
    double.assert_no_violations()


@pytest.fixture
def weekly(granola: GranolaDouble) -> NoteDouble:
    made = granola.note("Weekly", "- **Coffee** was ordered.", folders=[granola.folder("Team")])
    made.said = [("microphone", "Did it"), ("microphone", "arrive?"), ("speaker", "No."), ("Eve", "Monday.")]
    return made


@pytest.fixture
def bench(granola: GranolaDouble, weekly: NoteDouble) -> ProviderHarness:
    return ProviderHarness(Granola(), granola, secrets={"apiKey": "grn_good"})


async def test_everything_is_read_at_first(bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble) -> None:
    for number in range(70):
        granola.note(f"Note {number}", "x")
    await bench.run()
    assert len(bench.items) == 71
    assert granola.drain_operation_ids().count("listNotes") == 3
    item = bench.items[weekly.id]
    assert item.text == (
        "# Weekly\n\n- **Coffee** was ordered.\n\n## Transcript\n\n"
        "**Me**: Did it arrive?\n\n**Them**: No.\n\n**Eve**: Monday.\n"
    )
    assert item.metadata["path"] == "Team / Weekly"
    assert item.metadata["author"] == "Ada"
    assert item.metadata["attendees"] == ["Bob"]


async def test_a_transcript_of_one_microphone_says_who_spoke(
    bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble
) -> None:
    """A phone has one microphone for both sides of a meeting."""
    weekly.said = [("microphone", "Did it arrive?"), ("microphone/them", "Monday."), ("microphone/them", "")]
    await bench.run()
    assert bench.text(weekly.id).endswith("**Me**: Did it arrive?\n\n**Them**: Monday.\n")


async def test_a_note_that_fails_is_named_as_in_the_list(
    bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble
) -> None:
    granola.broken_paths[f"/v1/notes/{weekly.id}"] = DoubleResponse(403, {"message": "Forbidden"})
    await bench.run()
    assert bench.in_memory_sync.failures[weekly.id].title == "Weekly"


async def test_nothing_changed_costs_one_request(bench: ProviderHarness, granola: GranolaDouble) -> None:
    await bench.run()
    granola.drain_operation_ids()
    steps = await bench.run()
    assert granola.drain_operation_ids() == ["listNotes"]
    assert not [step for step in steps if isinstance(step, SourceItem)]


async def test_changes_and_new_notes_arrive(bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble) -> None:
    await bench.run()
    granola.edit(weekly, summary="Cancelled.")
    new = granola.note(None, "Without a title.")
    granola.drain_operation_ids()
    await bench.run()
    assert "Cancelled." in bench.text(weekly.id)
    assert bench.items[new.id].title == "Untitled note"
    assert granola.drain_operation_ids() == ["listNotes", "getNote", "getNote"]


async def test_a_deleted_note_goes(bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble) -> None:
    await bench.run()
    del granola.notes[weekly.id]
    await bench.run()
    assert not bench.items


async def test_a_note_that_is_listed_but_not_found_stays(
    bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble
) -> None:
    await bench.run()
    granola.edit(weekly, summary="New.")
    granola.broken_paths[f"/v1/notes/{weekly.id}"] = DoubleResponse(404, {"message": "Not found"})
    await bench.run(complete=True)
    assert weekly.id in bench.items
    assert bench.in_memory_sync.failures[weekly.id].retryable
    del granola.notes[weekly.id]
    await bench.run(complete=True)
    assert not bench.items


async def test_a_failed_note_stays_until_a_complete_listing_lacks_it(
    bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble
) -> None:
    for number in range(100):
        granola.note(f"Note {number}", "x")
    await bench.run()
    granola.edit(weekly, summary="New.")
    granola.broken_paths[f"/v1/notes/{weekly.id}"] = DoubleResponse(404, {"message": "Not found"})
    await bench.run()
    granola.note("Later")
    granola.advance_clock()
    granola.note("Much later")
    await bench.run()
    await bench.run()
    assert weekly.id in bench.items
    granola.broken_paths.clear()
    await bench.run()
    assert "New." in bench.text(weekly.id)


async def test_of_many_notes_only_those_that_changed_are_listed(bench: ProviderHarness, granola: GranolaDouble) -> None:
    many = [granola.note(f"Note {number}", "x") for number in range(100)]
    await bench.run()
    del granola.notes[many[0].id]
    granola.edit(many[1], summary="New.")
    granola.drain_operation_ids()
    await bench.run()
    assert granola.drain_operation_ids() == ["listNotes", "getNote"]
    assert many[0].id in bench.items
    await bench.run(complete=True)
    assert many[0].id not in bench.items


async def test_a_note_that_is_listed_no_more_but_is_there_stays(
    bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble
) -> None:
    await bench.run()
    granola.fail(DoubleResponse(200, {"notes": [], "hasMore": False, "cursor": None}), "listNotes")
    await bench.run(complete=True)
    assert weekly.id in bench.items


async def test_only_chosen_folders_and_those_within_are_read(
    bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble
) -> None:
    team = granola.folders[weekly.folders[0]]
    inner = granola.note("Inner", "x", folders=[granola.folder("Sub", team)])
    granola.note("Elsewhere", "x", folders=[granola.folder("Other")])
    bench.selection = {"folders": [team.id]}
    await bench.run()
    assert bench.items.keys() == {weekly.id, inner.id}
    weekly.folders = []
    await bench.run(complete=True)
    assert bench.items.keys() == {inner.id}


async def test_a_note_in_two_chosen_folders_is_read_once(
    bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble
) -> None:
    other = granola.folder("Other")
    weekly.folders.append(other.id)
    bench.selection = {"folders": weekly.folders}
    await bench.run()
    assert granola.drain_operation_ids() == ["listNotes", "getNote", "listNotes"]


async def test_a_killed_run_goes_on_after_its_last_page(bench: ProviderHarness, granola: GranolaDouble) -> None:
    for number in range(70):
        granola.note(f"Note {number}", "x")
    await bench.run_until_killed(40)
    rest = [step for step in await bench.run() if isinstance(step, SourceItem)]
    assert len(rest) == 41
    assert len(bench.items) == 71


async def test_a_refused_key_is_the_users_affair(bench: ProviderHarness, granola: GranolaDouble) -> None:
    granola.keys.clear()
    with pytest.raises(AuthExpiredError, match="new one"):
        await bench.run()


async def test_a_plan_without_the_api_is_told(bench: ProviderHarness, granola: GranolaDouble) -> None:
    granola.fail(DoubleResponse(403, {"message": "Forbidden"}))
    with pytest.raises(PlanRequiredError):
        await bench.run()


async def test_it_waits_as_long_as_granola_asks(bench: ProviderHarness, granola: GranolaDouble) -> None:
    granola.fail(DoubleResponse(429, {"message": "Too many"}, {"retry-after": "13"}), "getNote")
    await bench.run()
    assert max(bench.virtual_sleep.requested_seconds) == pytest.approx(13, abs=1)
    assert bench.items


async def test_the_picker_opens_folders(bench: ProviderHarness, granola: GranolaDouble, weekly: NoteDouble) -> None:
    team = granola.folders[weekly.folders[0]]
    inner = granola.folder("Sub", team)
    top = await bench.provider.browse(bench.connection(), None, "", None)
    assert [(entry.name, entry.expandable) for entry in top.entries] == [("Team", True)]
    within = await bench.provider.browse(bench.connection(), team.id, "", None)
    assert [(entry.name, entry.expandable) for entry in within.entries] == [("Sub", False)]
    found = await bench.provider.browse(bench.connection(), None, "su", None)
    assert [entry.id for entry in found.entries] == [inner.id]
    assert await bench.provider.resolve_names(bench.connection(), "folders", [inner.id, "none"]) == {inner.id: "Sub"}


class GranolaSourceDriver(SourceDriver):
    """Notes of one folder; what moves out is in none."""

    fields: Mapping[str, Any] = {"config": {"apiKey": "grn_good"}}

    def __init__(self) -> None:
        self.double = GranolaDouble()
        self.folder = self.double.folder("Team")
        self.provider = Granola()
        self.provider.rate_limit = UNLIMITED_RATE
        self.selection = {"folders": [self.folder.id]}
        self.notes: dict[str, NoteDouble] = {}

    def transport(self) -> httpx2.AsyncBaseTransport:
        return httpx2.ASGITransport(self.double)

    async def put(self, key: str, text: str) -> None:
        if key in self.notes:
            self.double.edit(self.notes[key], summary=text)
        else:
            self.notes[key] = self.double.note(key, text, folders=[self.folder])

    async def remove(self, key: str) -> None:
        del self.double.notes[self.notes[key].id]

    async def move_out(self, key: str) -> None:
        self.notes[key].folders.clear()

    def title(self, key: str) -> str:
        return key

    def call_count(self) -> int:
        return len(self.double.calls)

    def revoke_access(self) -> None:
        self.double.keys.clear()

    def rate_limit_for(self, seconds: int) -> None:
        self.double.fail(DoubleResponse(429, {"message": "Too many"}, {"retry-after": str(seconds)}))

    async def assert_no_violations(self) -> None:
        self.double.assert_no_violations()


class TestContract(ConnectorContract):
    test_an_event_starts_a_run_unless_it_is_forged = None  # type: ignore[assignment]  # Granola sends none

    @pytest.fixture
    def source(self) -> GranolaSourceDriver:
        return GranolaSourceDriver()
