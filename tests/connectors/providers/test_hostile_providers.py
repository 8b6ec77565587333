"""Providers that answer wrong: each item arrives whole, fails with a reason, or keeps its document; no run ends."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from connectors.client.http_client import HttpClients
from connectors.provider_interface import Provider
from connectors.providers.google.oauth_client import GoogleOAuthClient
from connectors.providers.google_drive.provider import GoogleDrive
from connectors.providers.notion.provider import Notion
from connectors.providers.onedrive.client import MicrosoftOAuthClient
from connectors.providers.onedrive.provider import OneDrive
from tests.support.connectors.in_memory_sync import InMemorySync, connect, http_clients
from tests.support.fakes import FixedClock
from tests.support.providers.authorization_server import AuthorizationServerDouble
from tests.support.providers.google_double import error_response
from tests.support.providers.google_drive_double import FOLDER, GoogleDriveDouble
from tests.support.providers.hostile_mode import HostileMode
from tests.support.providers.notion_double import NotionDouble
from tests.support.providers.onedrive_double import OneDriveDouble, refused
from tests.support.providers.provider_double import DoubleResponse, ProviderDouble

EXAMPLES = int(os.environ.get("HOSTILE_EXAMPLES", "25"))


@dataclass
class HostileWorld:
    """A source with some items, the words each must arrive with, and how its errors are worded."""

    provider: Provider
    double: ProviderDouble
    clients: HttpClients
    words: dict[str, str]
    refusal: Callable[[int], DoubleResponse]
    accounts: AuthorizationServerDouble | None = None
    spared: tuple[str, ...] = ()
    listed_by: Mapping[str, str] = field(default_factory=dict)
    """Id under which the only list of an item fails, by item."""


def notion() -> HostileWorld:
    double = NotionDouble()
    words: dict[str, str] = {}
    home = double.page("Home", "Words of home")
    tasks = double.data_source("Tasks", home.id)
    for number in range(8):
        place = (home.id, tasks.id, "")[number % 3]
        page = double.page(f"Page {number}", f"<callout>\n\tWords of {number}\n</callout>", place)
        words[page.id] = f"Words of {number}"
        page.missed = number % 3 == 1
    rows = {id_: f"data_sources/{tasks.id}" for id_ in words if double.nodes[id_].missed}
    words[home.id] = "Words of home"
    provider = Notion(None, "", token="ntn_good")
    clients = http_clients(double, double)
    return HostileWorld(
        provider, double, clients, words, lambda status: double.error(status, "bad", "Bad."), listed_by=rows
    )


def onedrive() -> HostileWorld:
    double = OneDriveDouble()
    double.size, double.addresses = 3, None
    folder = double.folder("Deeper", double.folder("Folder"))
    words = {
        double.put(f"{number}.txt", folder if number % 2 else None, f"Words of {number}".encode()): f"Words of {number}"
        for number in range(8)
    }
    provider = OneDrive(MicrosoftOAuthClient("the-client", "the-client-secret"), clock=FixedClock(double.now))
    return HostileWorld(
        provider, double, http_clients(double, double), words, lambda status: refused(status, "bad"), double.accounts
    )


def google_drive() -> HostileWorld:
    double = GoogleDriveDouble()
    folder = double.put("Deeper", double.put("Folder", double.root, FOLDER), FOLDER)
    words: dict[str, str] = {}
    for number in range(8):
        text = f"Words of {number}"
        native = number % 3 == 0
        id_ = double.put(
            f"{number}.txt",
            folder if number % 2 else double.root,
            "application/vnd.google-apps.document" if native else "text/plain",
            {"text/markdown": text.encode()} if native else text.encode(),
        )
        words[id_] = text
    client = GoogleOAuthClient("the-client", "the-client-secret", double.address)
    return HostileWorld(
        GoogleDrive(client, clock=FixedClock(double.now)),
        double,
        http_clients(double, double),
        words,
        lambda status: error_response(status, "bad"),
        double.accounts,
        spared=("/files/root",),
    )


@dataclass
class Tally:
    """What became of the items of all runs."""

    runs: int = 0
    items: int = 0
    right: int = 0
    failed: int = 0


@pytest.mark.parametrize("world", [notion, onedrive, google_drive])
def test_no_run_ends_and_no_item_is_lost_whatever_a_provider_answers(world: Callable[[], HostileWorld]) -> None:
    tally = Tally()

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        seed=st.integers(0, 2**32),
        error_rate=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
        field_rate=st.sampled_from([0.0, 0.02, 0.2, 1.0]),
        known=st.booleans(),
    )
    @example(seed=0, error_rate=0.0, field_rate=1.0, known=False)  # a data source that does not say that it is one
    @example(seed=0, error_rate=0.1, field_rate=0.2, known=False)  # one whose rows and whose title can't be read
    @example(seed=1, error_rate=0.1, field_rate=0.2, known=False)  # a file that failed and has no folder then
    def play(seed: int, error_rate: float, field_rate: float, known: bool) -> None:
        source = world()
        mode = HostileMode(seed, error_rate, field_rate, source.refusal, source.spared)
        asyncio.run(_played(source, mode, tally, known=known))

    play()
    if target := os.environ.get("HOSTILE_REPORT"):
        with Path(target).open("a") as report:
            report.write(json.dumps({"provider": world.__name__, **vars(tally)}) + "\n")


async def _played(world: HostileWorld, mode: HostileMode, tally: Tally, *, known: bool) -> None:
    mirror = InMemorySync()
    at = connect(world.provider, world.clients, world.accounts, config={"syncScope": "full"})
    if known:
        await mirror.run(world.provider, at)
        assert mirror.items.keys() == world.words.keys()
    world.double.hostile_mode = mode
    for full in (True, False):
        mirror.cursor, mirror.full_sync = (None, True) if full else (mirror.cursor, False)
        await mirror.run(world.provider, at)
        for id_, text in world.words.items():
            told = {id_, world.listed_by.get(id_, id_)} & mirror.failures.keys()
            assert id_ in mirror.items or told, f"{id_} is lost"
            assert id_ not in mirror.items or text in mirror.text(id_)
        assert all(failure.message for failure in mirror.failures.values())
        if known:
            assert mirror.items.keys() >= world.words.keys()
        tally.runs += 1
        tally.items += len(world.words)
        tally.right += len(mirror.items.keys() & world.words.keys())
        tally.failed += len(world.words.keys() - mirror.items.keys())
    world.double.hostile_mode = None
    mirror.cursor, mirror.full_sync = None, True
    mirror.failures = {id_: failure for id_, failure in mirror.failures.items() if failure.retryable}
    await mirror.run(world.provider, at)
    assert mirror.items.keys() == world.words.keys(), "everything arrives once the provider answers right again"
    world.double.assert_no_violations()
