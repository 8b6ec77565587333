"""The suite of every provider, run on Google Drive, Gmail, OneDrive and the crawler."""

import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import httpx2
import pytest

from connectors.client.request_throttle import RateLimit
from connectors.providers.gmail.provider import Gmail, PubSubConfig
from connectors.providers.google.oauth_client import GoogleOAuthClient
from connectors.providers.google.pubsub_push import GoogleSigningKeys
from connectors.providers.google_drive.provider import GoogleDrive
from connectors.providers.onedrive.client import MicrosoftOAuthClient
from connectors.providers.onedrive.provider import OneDrive
from connectors.providers.web_crawler.provider import WebCrawler
from tests.connectors.provider_contract import ConnectorContract, DeliveryRequest, SourceDriver
from tests.support.asgi_server import serve_app
from tests.support.connectors.connected_service import ConnectedService
from tests.support.fakes import EPOCH, FixedClock
from tests.support.providers.authorization_server import CLIENT_ID, CLIENT_SECRET, AuthorizationServerDouble
from tests.support.providers.gmail_double import AUDIENCE, PUSHER, TOPIC, GmailDouble
from tests.support.providers.google_double import error_response
from tests.support.providers.google_drive_double import FOLDER, GoogleDriveDouble
from tests.support.providers.onedrive_double import OneDriveDouble
from tests.support.providers.onedrive_double import refused as graph_refused
from tests.support.providers.provider_double import ProviderDouble
from tests.support.providers.web_site_double import SitePage, WebSiteDouble


class AuthorizedSourceDriver(SourceDriver):
    """A source whose connector is authorized by its user."""

    requires_subscription: ClassVar[bool] = True
    double: ProviderDouble
    accounts: AuthorizationServerDouble

    def transport(self) -> httpx2.AsyncBaseTransport:
        self.accounts.accepts_any_code = True
        return httpx2.ASGITransport(self.double)

    def title(self, key: str) -> str:
        return f"{key}.txt"

    def call_count(self) -> int:
        return len(self.double.calls)

    def revoke_access(self) -> None:
        self.accounts.revoke()

    def rate_limit_for(self, seconds: int) -> None:
        self.double.fail(error_response(429, "rateLimitExceeded", retry_after=str(seconds)))

    async def assert_no_violations(self) -> None:
        self.double.assert_no_violations()


class DriveSourceDriver(AuthorizedSourceDriver):
    """Text files in a folder."""

    def __init__(self) -> None:
        self.double = self.drive = GoogleDriveDouble()
        self.drive.now = datetime.now(UTC)  # the service's own clock, by which it renews subscriptions
        self.accounts = self.drive.accounts
        client = GoogleOAuthClient(CLIENT_ID, CLIENT_SECRET, self.drive.address)
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

    def delivery(self, connector: str, *, forged: bool = False) -> DeliveryRequest:
        [channel] = self.drive.channels.values()
        headers = self.drive.notifications(channel.id)
        return DeliveryRequest(channel.address, headers | ({"x-goog-channel-token": "another"} if forged else {}))

    def subscription_count(self) -> int:
        return len(self.drive.channels)


class OneDriveSourceDriver(AuthorizedSourceDriver):
    """Text files in a folder."""

    def __init__(self) -> None:
        self.double = self.drive = OneDriveDouble()
        self.drive.now = datetime.now(UTC)
        self.accounts = self.drive.accounts
        # One transport stands for Graph and for where contents are.
        self.drive.contents_at = self.drive.address
        client = MicrosoftOAuthClient(CLIENT_ID, CLIENT_SECRET)
        self.provider = OneDrive(client, clock=FixedClock(self.drive.now))
        self.folder = self.drive.folder("Mirror")
        self.selection = {"folders": [self.folder]}
        self.ids: dict[str, str] = {}

    def call_count(self) -> int:
        return super().call_count() + self.drive.downloads

    def rate_limit_for(self, seconds: int) -> None:
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

    def delivery(self, connector: str, *, forged: bool = False) -> DeliveryRequest:
        [subscription] = self.drive.subscriptions.values()
        state = {"clientState": "another"} if forged else {}
        return DeliveryRequest(
            subscription["notificationUrl"], {}, self.drive.notification(subscription["id"], **state)
        )

    def subscription_count(self) -> int:
        return len(self.drive.subscriptions)


class GmailSourceDriver(AuthorizedSourceDriver):
    """Mails with a label."""

    def __init__(self) -> None:
        self.double = self.mail = GmailDouble()
        self.mail.now = datetime.now(UTC)
        self.accounts = self.mail.accounts
        client = GoogleOAuthClient(CLIENT_ID, CLIENT_SECRET, self.mail.address)
        clock = FixedClock(self.mail.now)
        keys = GoogleSigningKeys("https://keys.test", self._keys, clock)
        self.provider = Gmail(client, clock=clock, pubsub=PubSubConfig(TOPIC, AUDIENCE, PUSHER, keys))
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

    def delivery(self, connector: str, *, forged: bool = False) -> DeliveryRequest:
        self.mail.now = datetime.now(UTC)
        return _pushed(self.mail.push(**({"aud": "https://another.test"} if forged else {})))

    def subscription_count(self) -> int:
        return len(self.mail.watches[-1:])


def _pushed(push: tuple[str, bytes]) -> DeliveryRequest:
    authorization, body = push
    return DeliveryRequest(AUDIENCE, {"authorization": authorization}, body)


class SiteSourceDriver(SourceDriver):
    """Pages that a sitemap dates and a start page links to, which does not want to be kept itself."""

    settings: ClassVar[Mapping[str, Any]] = {"fetch_private_addresses": True}

    def __init__(self, site: WebSiteDouble, address: str) -> None:
        self.site = site
        self.fields: Mapping[str, Any] = {"config": {"startUrl": f"{address}/"}}
        self.provider = WebCrawler(clock=FixedClock())
        self.provider.rate_limit = RateLimit(requests_per_second=1000, max_concurrent=2, burst=100)
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

    def call_count(self) -> int:
        return len(self.site.requests)

    def revoke_access(self) -> None:
        raise NotImplementedError

    def rate_limit_for(self, seconds: int) -> None:
        self.site.fail("/", SitePage(b"", status=429, headers={"retry-after": str(seconds)}))

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

    async def assert_no_violations(self) -> None:
        self.site.assert_no_violations()


class TestGoogleDrive(ConnectorContract):
    """Of Google Drive."""

    @pytest.fixture
    def source(self) -> DriveSourceDriver:
        return DriveSourceDriver()


class TestOneDrive(ConnectorContract):
    """Of OneDrive."""

    @pytest.fixture
    def source(self) -> OneDriveSourceDriver:
        return OneDriveSourceDriver()

    @pytest.mark.anyio
    async def test_the_address_of_events_answers_for_itself(
        self, world: ConnectedService, source: OneDriveSourceDriver
    ) -> None:
        await self.connect(world, source)
        [subscription] = source.drive.subscriptions.values()
        asked = await world.deliver(DeliveryRequest(f"{subscription['notificationUrl']}?validationToken=a%20token", {}))
        assert (asked.status_code, asked.text) == (200, "a token")
        assert asked.headers["content-type"].startswith("text/plain")


class TestGmail(ConnectorContract):
    """Of Gmail."""

    @pytest.fixture
    def source(self) -> GmailSourceDriver:
        return GmailSourceDriver()

    @pytest.mark.anyio
    async def test_a_push_of_long_ago_is_none(self, world: ConnectedService, source: GmailSourceDriver) -> None:
        await self.connect(world, source)
        assert source.mail.watches[-1]["labelIds"] == [source.label]
        source.mail.now = datetime.now(UTC)
        late = source.mail.push(iat=int(source.mail.now.timestamp()) - 3000)
        assert (await world.deliver(_pushed(late))).status_code == 401


class TestWebCrawler(ConnectorContract):
    """Of the crawler, which nobody authorizes."""

    test_access_that_ended_is_told_and_loses_nothing = None  # type: ignore[assignment]  # there is none to end
    test_no_secret_is_kept_in_clear_logged_or_answered = None  # type: ignore[assignment]  # there is none
    test_an_event_starts_a_run_unless_it_is_forged = None  # type: ignore[assignment]  # there is none

    @pytest.fixture
    async def source(self, anyio_backend: str) -> AsyncIterator[SiteSourceDriver]:
        site = WebSiteDouble("127.0.0.1")
        async with serve_app(site) as address:
            yield SiteSourceDriver(site, address)
