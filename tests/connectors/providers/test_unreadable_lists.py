"""Lists of a provider that are no lists, or never end: nothing is removed, and the run is tried again.

The answers are those of proxies and outages that come with status 200. OneDrive led back to the same page for hours
(OneDrive/onedrive-api-docs issue 1431).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from connectors.errors import CursorExpiredError, ProviderUnavailableError
from connectors.provider_interface import Connection, Provider
from tests.connectors.providers import test_hostile_providers as drives
from tests.support.connectors import hostile_sources
from tests.support.connectors.in_memory_sync import InMemorySync, connect
from tests.support.providers.hostile_mode import HostileMode
from tests.support.providers.provider_double import DoubleResponse, ProviderDouble, ReceivedRequest

pytestmark = pytest.mark.anyio


@dataclass
class ListedSource:
    """A provider before its double: what its requests for the whole list and for news have in common."""

    provider: Provider
    connection: Connection
    double: ProviderDouble
    listing: str
    news: str
    looping: dict[str, Any]
    """A page that names itself as the next one."""


def _drive(world: drives.HostileWorld, listing: str, news: str, looping: dict[str, Any]) -> ListedSource:
    connection = connect(world.provider, world.clients, world.accounts, config={"syncScope": "full"})
    return ListedSource(world.provider, connection, world.double, listing, news, looping)


def _hostile(source: hostile_sources.HostileSource, listing: str, news: str, looping: dict[str, Any]) -> ListedSource:
    source.app.is_hostile = False
    double = source.app.inner
    assert isinstance(double, ProviderDouble)
    return ListedSource(source.provider, source.connection, double, listing, news, looping)


def notion() -> ListedSource:
    page = {"object": "list", "results": [], "has_more": True, "next_cursor": "0"}
    return _drive(drives.notion(), "/v1/search?", "/v1/search?", page)


def onedrive() -> ListedSource:
    link = "https://graph.microsoft.com/v1.0/me/drive/root/delta?token=since-0"
    return _drive(drives.onedrive(), "/root/delta?", "/root/delta?", {"value": [], "@odata.nextLink": link})


def google_drive() -> ListedSource:
    page = {"files": [], "changes": [], "nextPageToken": "1"}
    return _drive(drives.google_drive(), "/v3/files?", "/v3/changes?", page)


def gmail() -> ListedSource:
    page = {"resultSizeEstimate": 0, "historyId": "1", "nextPageToken": "1"}
    return _hostile(hostile_sources.gmail_source(1), "/threads?", "/history?", page)


def granola() -> ListedSource:
    page = {"notes": [], "hasMore": True, "cursor": "1"}
    return _hostile(hostile_sources.granola_source(1), "/v1/notes?", "/v1/notes?", page)


SOURCES = [notion, onedrive, google_drive, gmail, granola]
BODIES = ["null", "[]", "{}", '"text"', "<html>Sign in</html>", "", '{"error": {"code": 500, "message": "Backend"}}']


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("world", SOURCES)
async def test_an_answer_that_is_no_list_removes_nothing(
    world: Callable[[], ListedSource], complete: bool, body: str
) -> None:
    source, mirror = world(), InMemorySync()
    await mirror.run(source.provider, source.connection)
    known = {*mirror.items}
    assert known
    if complete:
        mirror.cursor, mirror.full_sync = None, True
    source.double.broken_paths[source.listing if complete else source.news] = DoubleResponse(200, body.encode())
    with pytest.raises(ProviderUnavailableError):
        await mirror.run(source.provider, source.connection)
    assert mirror.items.keys() == known


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("world", SOURCES)
async def test_a_list_that_leads_back_to_itself_ends_and_removes_nothing(
    world: Callable[[], ListedSource], complete: bool
) -> None:
    source, mirror = world(), InMemorySync()
    await mirror.run(source.provider, source.connection)
    known = {*mirror.items}
    if complete:
        mirror.cursor, mirror.full_sync = None, True
    page = DoubleResponse(200, json.dumps(source.looping).encode())
    for path in (source.listing, source.news):
        source.double.broken_paths[path] = page
    with pytest.raises((ProviderUnavailableError, CursorExpiredError), match="leads back"):
        await mirror.run(source.provider, source.connection)
    assert mirror.items.keys() == known


ODD_VALUES: list[Any] = [7, "unexpected", [], {}, [None], {"type": "unknown"}, True]


@dataclass(frozen=True)
class OddValue(HostileMode):
    """Puts `value` into a field of the last entry of a list; `fields` collects what there is."""

    list_name: str = ""
    field_name: str = ""
    value: Any = None
    fields: set[str] = field(default_factory=set)

    def spoil(self, call: ReceivedRequest, answer: DoubleResponse) -> DoubleResponse:
        listed = answer.body.get(self.list_name) if isinstance(answer.body, dict) else None
        if not listed:
            return answer
        self.fields.update(key for entry in listed for key in entry)
        odd = {self.field_name: self.value} if self.field_name else {}
        return replace(answer, body={**answer.body, self.list_name: [*listed[:-1], listed[-1] | odd]})


@pytest.mark.parametrize(
    ("world", "name"), [(notion, "results"), (onedrive, "value"), (google_drive, "files"), (gmail, "threads")]
)
async def test_an_entry_with_a_value_of_an_unexpected_type_ends_no_run(
    world: Callable[[], ListedSource], name: str
) -> None:
    async def run(field_name: str, value: Any) -> set[str]:
        source, mirror = world(), InMemorySync()
        mode = OddValue(0, 0, 0, DoubleResponse, list_name=name, field_name=field_name, value=value)
        source.double.hostile_mode = mode
        await mirror.run(source.provider, source.connection)
        assert len(mirror.items) >= 4, f"{field_name}: {value}"
        return mode.fields

    for field_name in sorted(await run("", None) - {"id"}):
        for value in ODD_VALUES:
            await run(field_name, value)
