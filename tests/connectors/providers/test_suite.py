"""The suite of every provider, run on Google Drive, Gmail, OneDrive and the crawler."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import httpx2
import pytest
import uvicorn

from connectors.ports import Pace
from connectors.providers.gmail import Gmail, Push
from connectors.providers.google import GoogleClient
from connectors.providers.google_drive import GoogleDrive
from connectors.providers.google_push import GoogleKeys
from connectors.providers.graph import MicrosoftClient
from connectors.providers.onedrive import OneDrive
from connectors.providers.web_crawler import WebCrawler
from tests.connectors.contract import ConnectorContract, Sent, Source
from tests.connectors.doubles.accounts import CLIENT_ID, CLIENT_SECRET, Accounts
from tests.connectors.doubles.double import Double
from tests.connectors.doubles.gmail import AUDIENCE, PUSHER, TOPIC, GmailDouble
from tests.connectors.doubles.google import refused
from tests.connectors.doubles.google_drive import FOLDER, GoogleDriveDouble
from tests.connectors.doubles.onedrive import OneDriveDouble
from tests.connectors.doubles.onedrive import refused as graph_refused
from tests.connectors.doubles.web_crawler import PageThere, Site
from tests.connectors.world import Connected
from tests.fakes import EPOCH, FixedClock


class Authorized(Source):
    """A source whose connector is authorized by its user."""

    subscribes: ClassVar[bool] = True
    double: Double
    accounts: Accounts

    def transport(self) -> httpx2.AsyncBaseTransport:
        self.accounts.trusting = True
        return httpx2.ASGITransport(self.double)

    def title(self, key: str) -> str:
        return f"{key}.txt"

    def calls(self) -> int:
        return len(self.double.calls)

    def withdraw(self) -> None:
        self.accounts.revoke()

    def refuse_for(self, seconds: int) -> None:
        self.double.fail(refused(429, "rateLimitExceeded", retry_after=str(seconds)))

    async def settle(self) -> None:
        self.double.settle()


class DriveSource(Authorized):
    """Text files in a folder."""

    def __init__(self) -> None:
        self.double = self.drive = GoogleDriveDouble()
        self.accounts = self.drive.accounts
        client = GoogleClient(CLIENT_ID, CLIENT_SECRET, self.drive.address)
        self.provider = GoogleDrive(client, clock=FixedClock(self.drive.now))
        self.folder = self.drive.put("Mirror", self.drive.root, FOLDER)
        self.selection = {"folders": [self.folder]}
        self.ids: dict[str, str] = {}

    async def put(self, key: str, text: str) -> None:
        if key in self.ids:
            self.drive.write(self.ids[key], text.encode())
        else:
            self.ids[key] = self.drive.put(self.title(key), self.folder, "text/plain", text.encode())

    async def remove(self, key: str) -> None:
        self.drive.delete(self.ids.pop(key))

    async def move_out(self, key: str) -> None:
        self.drive.change(self.ids[key], parents=[self.drive.root])

    def sends(self, connector: str, *, forged: bool = False) -> Sent:
        [channel] = self.drive.channels.values()
        headers = self.drive.notifications(channel.id)
        return Sent(channel.address, headers | ({"x-goog-channel-token": "another"} if forged else {}))

    def subscriptions(self) -> int:
        return len(self.drive.channels)


class OneDriveSource(Authorized):
    """Text files in a folder."""

    def __init__(self) -> None:
        self.double = self.drive = OneDriveDouble()
        self.accounts = self.drive.accounts
        # One transport stands for Graph and for where contents are.
        self.drive.contents_at = self.drive.address
        client = MicrosoftClient(CLIENT_ID, CLIENT_SECRET)
        self.provider = OneDrive(client, clock=FixedClock(self.drive.now))
        self.folder = self.drive.folder("Mirror")
        self.selection = {"folders": [self.folder]}
        self.ids: dict[str, str] = {}

    def calls(self) -> int:
        return super().calls() + self.drive.downloads

    def refuse_for(self, seconds: int) -> None:
        self.double.fail(graph_refused(429, "activityLimitReached", Retry_After=str(seconds)))

    async def put(self, key: str, text: str) -> None:
        if key in self.ids:
            self.drive.write(self.ids[key], text.encode())
        else:
            self.ids[key] = self.drive.put(self.title(key), self.folder, text.encode())

    async def remove(self, key: str) -> None:
        self.drive.delete(self.ids.pop(key))

    async def move_out(self, key: str) -> None:
        self.drive.change(self.ids[key], parent=self.drive.root)

    def sends(self, connector: str, *, forged: bool = False) -> Sent:
        [one] = self.drive.subscriptions.values()
        state = {"clientState": "another"} if forged else {}
        return Sent(one["notificationUrl"], {}, self.drive.notification(one["id"], **state))

    def subscriptions(self) -> int:
        return len(self.drive.subscriptions)


class GmailSource(Authorized):
    """Mails with a label."""

    def __init__(self) -> None:
        self.double = self.mail = GmailDouble()
        self.accounts = self.mail.accounts
        client = GoogleClient(CLIENT_ID, CLIENT_SECRET, self.mail.address)
        clock = FixedClock(self.mail.now)
        keys = GoogleKeys("https://keys.test", self._keys, clock)
        self.provider = Gmail(client, clock=clock, push=Push(TOPIC, AUDIENCE, PUSHER, keys))
        self.label = self.mail.label("Mirror")
        self.selection = {"labels": [self.label]}
        self.ids: dict[str, tuple[str, str]] = {}

    async def _keys(self, url: str) -> bytes:
        assert url == "https://keys.test"
        return json.dumps(self.mail.keys()).encode()

    def title(self, key: str) -> str:
        return key

    async def put(self, key: str, text: str) -> None:
        thread, before = self.ids.get(key, (None, None))
        self.ids[key] = self.mail.deliver(key, text, thread=thread, labels=[self.label])
        if before is not None:
            self.mail.purge(before)

    async def remove(self, key: str) -> None:
        self.mail.purge(self.ids.pop(key)[1])

    async def move_out(self, key: str) -> None:
        self.mail.relabel(self.ids[key][1], remove=[self.label])

    def sends(self, connector: str, *, forged: bool = False) -> Sent:
        self.mail.now = datetime.now(UTC)
        return _pushed(self.mail.push(**({"aud": "https://another.test"} if forged else {})))

    def subscriptions(self) -> int:
        return len(self.mail.watches[-1:])


def _pushed(push: tuple[str, bytes]) -> Sent:
    authorization, body = push
    return Sent(AUDIENCE, {"authorization": authorization}, body)


class SiteSource(Source):
    """Pages that a sitemap dates and a start page links to, which does not want to be kept itself."""

    settings: ClassVar[Mapping[str, Any]] = {"fetch_private_addresses": True}

    def __init__(self, address: str) -> None:
        self.site = Site("127.0.0.1")
        self.fields: Mapping[str, Any] = {"config": {"startUrl": f"{address}/"}}
        self.provider = WebCrawler(clock=FixedClock())
        self.provider.pace = Pace(per_second=1000, concurrent=2, burst=100)
        self.address = address
        self.dated: dict[str, str] = {}
        self.changes = 0
        self._start()

    def _start(self) -> None:
        self.site.page("/", "All pages.", *self.dated, head="<meta name='robots' content='noindex'>")
        self.site.sitemap({f"{self.address}{path}": at for path, at in self.dated.items()})

    def transport(self) -> None:
        return None

    def title(self, key: str) -> str:
        return key

    def calls(self) -> int:
        return len(self.site.requests)

    def withdraw(self) -> None:
        raise NotImplementedError

    def refuse_for(self, seconds: int) -> None:
        self.site.fail("/", PageThere(b"", status=429, headers={"retry-after": str(seconds)}))

    async def put(self, key: str, text: str) -> None:
        await self.put_all({key: text})

    async def put_all(self, texts: Mapping[str, str]) -> None:
        for key, text in texts.items():
            self.site.page(f"/{key}", text, title=key)
            self.changes += 1
            self.dated[f"/{key}"] = (EPOCH - timedelta(days=1, seconds=-self.changes)).isoformat()
        self._start()

    async def remove(self, key: str) -> None:
        await self.move_out(key)
        del self.site.pages[f"/{key}"]

    async def move_out(self, key: str) -> None:
        del self.dated[f"/{key}"]
        self._start()

    async def settle(self) -> None:
        self.site.settle()


class TestGoogleDrive(ConnectorContract):
    """Of Google Drive."""

    @pytest.fixture
    def source(self) -> DriveSource:
        return DriveSource()


class TestOneDrive(ConnectorContract):
    """Of OneDrive."""

    @pytest.fixture
    def source(self) -> OneDriveSource:
        return OneDriveSource()

    @pytest.mark.anyio
    async def test_the_address_of_events_answers_for_itself(
        self, world: Connected, source: OneDriveSource
    ) -> None:
        await self.connect(world, source)
        [subscription] = source.drive.subscriptions.values()
        asked = await world.told(Sent(f"{subscription['notificationUrl']}?validationToken=a%20token", {}))
        assert (asked.status_code, asked.text) == (200, "a token")
        assert asked.headers["content-type"].startswith("text/plain")


class TestGmail(ConnectorContract):
    """Of Gmail."""

    @pytest.fixture
    def source(self) -> GmailSource:
        return GmailSource()

    @pytest.mark.anyio
    async def test_a_push_of_long_ago_is_none(self, world: Connected, source: GmailSource) -> None:
        await self.connect(world, source)
        assert source.mail.watches[-1]["labelIds"] == [source.label]
        source.mail.now = datetime.now(UTC)
        late = source.mail.push(iat=int(source.mail.now.timestamp()) - 3000)
        assert (await world.told(_pushed(late))).status_code == 401


class TestWebCrawler(ConnectorContract):
    """Of the crawler, which nobody authorizes."""

    test_access_that_ended_is_told_and_loses_nothing = None  # type: ignore[assignment]  # there is none to end
    test_no_secret_is_kept_in_clear_logged_or_answered = None  # type: ignore[assignment]  # there is none
    test_an_event_starts_a_run_unless_it_is_forged = None  # type: ignore[assignment]  # there is none

    @pytest.fixture
    async def source(self, anyio_backend: str) -> AsyncIterator[SiteSource]:
        listening = socket.create_server(("127.0.0.1", 0))
        source = SiteSource(f"http://127.0.0.1:{listening.getsockname()[1]}")
        config = uvicorn.Config(source.site, log_level="warning", lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        yield source
        server.should_exit = True
        with suppress(asyncio.CancelledError):
            await serving
