"""Web crawler provider: pages of one public site within a few links, respecting robots.txt."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

from connectors.client.request_throttle import RateLimit, SleepFunction
from connectors.provider_interface import Connection, Provider
from connectors.providers.web_crawler.browser_rendering import PageRenderer
from connectors.providers.web_crawler.sync import CrawlSync, start_url_of
from connectors.sync_messages import Cursor, SyncMessage, SyncState
from pipeline.ports import Clock
from schemas.crawl_options import parse_crawl_options

MAX_PAGES = 10_000
_DEFAULT_DEPTH = 3


@dataclass(kw_only=True, eq=False)
class WebCrawler(Provider):
    """Crawls the whole site each time, with conditional requests for known pages.

    Pages that the sitemap dates as unchanged are requested only in every fourth crawl. `max_pages`: requested by one
    crawl at most; `renderer` runs scripts of pages.
    """

    name = "web-crawler"
    rate_limit = RateLimit(requests_per_second=4, max_concurrent=2, burst=4)
    sync_interval = timedelta(days=7)
    full_sync_interval = timedelta(days=28)

    max_pages: int = MAX_PAGES
    sleep: SleepFunction = asyncio.sleep
    clock: Clock
    renderer: PageRenderer | None = None

    def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        config = connection.config
        depth = config.get("crawlDepth", _DEFAULT_DEPTH)
        run = CrawlSync(
            http=connection.http,
            state=state,
            start_url=start_url_of(config, connection.secrets),
            max_depth=int(depth),
            max_pages=self.max_pages,
            sleep=self.sleep,
            now=self.clock.now(),
            renderer=self.renderer,
            options=parse_crawl_options(str(config.get("startUrl", ""))),
        )
        return run.run(cursor)
