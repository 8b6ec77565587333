"""Granola: notes by their last change, and a daily look for those that went."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import pytest

from connectors.errors import AuthExpiredError, PlanRequiredError
from connectors.ports import Item
from connectors.providers.granola import Granola
from tests.connectors.contract import ConnectorContract, Source
from tests.connectors.doubles.double import Answer
from tests.connectors.doubles.granola import GranolaDouble, Note
from tests.connectors.mirror import QUICK
from tests.connectors.providers.bench import Bench

pytestmark = pytest.mark.anyio


@pytest.fixture
def granola() -> Iterator[GranolaDouble]:
    double = GranolaDouble()
    yield double
    double.settle()


@pytest.fixture
def weekly(granola: GranolaDouble) -> Note:
    made = granola.note("Weekly", "- **Coffee** was ordered.", folders=[granola.folder("Team")])
    made.said = [("microphone", "Did it"), ("microphone", "arrive?"), ("speaker", "No."), ("Eve", "Monday.")]
    return made


@pytest.fixture
def bench(granola: GranolaDouble, weekly: Note) -> Bench:
    return Bench(Granola(), granola, secrets={"apiKey": "grn_good"})


async def test_everything_is_read_at_first(bench: Bench, granola: GranolaDouble, weekly: Note) -> None:
    for number in range(70):
        granola.note(f"Note {number}", "x")
    await bench.run()
    assert len(bench.items) == 71
    assert granola.counted().count("listNotes") == 3
    item = bench.items[weekly.id]
    assert item.text == (
        "# Weekly\n\n- **Coffee** was ordered.\n\n## Transcript\n\n"
        "**Me**: Did it arrive?\n\n**Them**: No.\n\n**Eve**: Monday.\n"
    )
    assert item.metadata["path"] == "Team / Weekly"
    assert item.metadata["author"] == "Ada"
    assert item.metadata["attendees"] == ["Bob"]


async def test_nothing_changed_costs_one_request(bench: Bench, granola: GranolaDouble) -> None:
    await bench.run()
    granola.counted()
    steps = await bench.run()
    assert granola.counted() == ["listNotes"]
    assert not [step for step in steps if isinstance(step, Item)]


async def test_changes_and_new_notes_arrive(bench: Bench, granola: GranolaDouble, weekly: Note) -> None:
    await bench.run()
    granola.edit(weekly, summary="Cancelled.")
    new = granola.note(None, "Without a title.")
    granola.counted()
    await bench.run()
    assert "Cancelled." in bench.text(weekly.id)
    assert bench.items[new.id].title == "Untitled note"
    assert granola.counted() == ["listNotes", "getNote", "getNote"]


async def test_a_deleted_note_goes(bench: Bench, granola: GranolaDouble, weekly: Note) -> None:
    await bench.run()
    del granola.notes[weekly.id]
    await bench.run()
    assert not bench.items


async def test_of_many_notes_only_those_that_changed_are_listed(bench: Bench, granola: GranolaDouble) -> None:
    many = [granola.note(f"Note {number}", "x") for number in range(100)]
    await bench.run()
    del granola.notes[many[0].id]
    granola.edit(many[1], summary="New.")
    granola.counted()
    await bench.run()
    assert granola.counted() == ["listNotes", "getNote"]
    assert many[0].id in bench.items
    await bench.run(complete=True)
    assert many[0].id not in bench.items


async def test_a_note_that_is_listed_no_more_but_is_there_stays(
    bench: Bench, granola: GranolaDouble, weekly: Note
) -> None:
    await bench.run()
    granola.fail(Answer(200, {"notes": [], "hasMore": False, "cursor": None}), "listNotes")
    await bench.run(complete=True)
    assert weekly.id in bench.items


async def test_only_chosen_folders_and_those_within_are_read(
    bench: Bench, granola: GranolaDouble, weekly: Note
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
    bench: Bench, granola: GranolaDouble, weekly: Note
) -> None:
    other = granola.folder("Other")
    weekly.folders.append(other.id)
    bench.selection = {"folders": weekly.folders}
    await bench.run()
    assert granola.counted() == ["listNotes", "getNote", "listNotes"]


async def test_a_killed_run_goes_on_after_its_last_page(bench: Bench, granola: GranolaDouble) -> None:
    for number in range(70):
        granola.note(f"Note {number}", "x")
    await bench.killed(40)
    rest = [step for step in await bench.run() if isinstance(step, Item)]
    assert len(rest) == 41
    assert len(bench.items) == 71


async def test_a_refused_key_is_the_users_affair(bench: Bench, granola: GranolaDouble) -> None:
    granola.keys.clear()
    with pytest.raises(AuthExpiredError, match="new one"):
        await bench.run()


async def test_a_plan_without_the_api_is_told(bench: Bench, granola: GranolaDouble) -> None:
    granola.fail(Answer(403, {"message": "Forbidden"}))
    with pytest.raises(PlanRequiredError):
        await bench.run()


async def test_it_waits_as_long_as_granola_asks(bench: Bench, granola: GranolaDouble) -> None:
    granola.fail(Answer(429, {"message": "Too many"}, {"retry-after": "13"}), "getNote")
    await bench.run()
    assert max(bench.patience.waits) == pytest.approx(13, abs=1)
    assert bench.items


async def test_the_picker_opens_folders(bench: Bench, granola: GranolaDouble, weekly: Note) -> None:
    team = granola.folders[weekly.folders[0]]
    inner = granola.folder("Sub", team)
    top = await bench.provider.browse(bench.connection(), None, "", None)
    assert [(entry.name, entry.opens) for entry in top.entries] == [("Team", True)]
    within = await bench.provider.browse(bench.connection(), team.id, "", None)
    assert [(entry.name, entry.opens) for entry in within.entries] == [("Sub", False)]
    found = await bench.provider.browse(bench.connection(), None, "su", None)
    assert [entry.id for entry in found.entries] == [inner.id]
    assert await bench.provider.names(bench.connection(), "folders", [inner.id, "none"]) == {inner.id: "Sub"}


class GranolaSource(Source):
    """Notes of one folder; what moves out is in none."""

    fields: Mapping[str, Any] = {"config": {"apiKey": "grn_good"}}

    def __init__(self) -> None:
        self.double = GranolaDouble()
        self.folder = self.double.folder("Team")
        self.provider = Granola()
        self.provider.pace = QUICK
        self.selection = {"folders": [self.folder.id]}
        self.notes: dict[str, Note] = {}

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

    def calls(self) -> int:
        return len(self.double.calls)

    def withdraw(self) -> None:
        self.double.keys.clear()

    def refuse_for(self, seconds: int) -> None:
        self.double.fail(Answer(429, {"message": "Too many"}, {"retry-after": str(seconds)}))

    async def settle(self) -> None:
        self.double.settle()


class TestContract(ConnectorContract):
    test_an_event_starts_a_run_unless_it_is_forged = None  # type: ignore[assignment]  # Granola sends none

    @pytest.fixture
    def source(self) -> GranolaSource:
        return GranolaSource()
