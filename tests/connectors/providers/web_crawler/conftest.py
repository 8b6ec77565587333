"""The crawler and a site of its own."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from connectors.provider_interface import Connection
from connectors.providers.web_crawler.browser_rendering import PageRenderer
from connectors.providers.web_crawler.provider import WebCrawler
from tests.support.connectors.in_memory_sync import InMemorySync, VirtualSleep, connect, http_clients
from tests.support.fakes import FixedClock
from tests.support.providers.web_site_double import WebSiteDouble


@dataclass
class WebCrawlerHarness:
    """A site, its connector, and what the connector's runs lead to."""

    site: WebSiteDouble
    depth: int = 3
    pages: int = 1000
    renderer: PageRenderer | None = None
    in_memory_sync: InMemorySync = field(default_factory=InMemorySync)
    virtual_sleep: VirtualSleep = field(default_factory=VirtualSleep)
    clock: FixedClock = field(default_factory=lambda: FixedClock(datetime(2026, 3, 10, 12, tzinfo=UTC)))

    def __post_init__(self) -> None:
        self.clients = http_clients(self.site, self.site)
        self.start = f"{self.site.address}/"

    def connect(self) -> Connection:
        self.provider = WebCrawler(
            max_pages=self.pages, sleep=self.virtual_sleep.sleep, clock=self.clock, renderer=self.renderer
        )
        config: dict[str, str | float | bool] = {"startUrl": self.start, "crawlDepth": self.depth}
        return connect(self.provider, self.clients, config=config, virtual_sleep=self.virtual_sleep)

    async def sync(self) -> list[str]:
        """A run; what it asked for."""
        self.site.drain_requests()
        at = self.connect()
        await self.in_memory_sync.run(self.provider, at)
        return list(self.site.requests)

    def paths(self) -> set[str]:
        """The paths of what there is."""
        return {id_.removeprefix(self.site.address) for id_ in self.in_memory_sync.items}


@pytest.fixture
async def world() -> AsyncIterator[WebCrawlerHarness]:
    site = WebSiteDouble()
    yield WebCrawlerHarness(site)
    site.assert_no_violations()
