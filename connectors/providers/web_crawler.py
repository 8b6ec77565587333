"""Pages of one public site: from a start page and the sitemaps, a few links deep, as robots.txt allows."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

from connectors.pace import Sleep
from connectors.ports import Connection, Cursor, Known, Pace, Provider, Step
from connectors.providers.crawl_run import CrawlRun, start_of
from pipeline.ports import Clock

PAGES = 10_000
_DEPTH = 3


class WebCrawler(Provider):
    """A crawl of the whole site each time; what did not change is not sent again by sites that know how.

    What a site's own sitemap dates as before is asked for every fourth time only.
    """

    name = "web-crawler"
    pace = Pace(per_second=4, concurrent=2, burst=4)
    every = timedelta(days=7)
    reconcile = timedelta(days=28)
    order = "the start page and the sitemap first, then link by link"

    def __init__(self, *, pages: int = PAGES, sleep: Sleep = asyncio.sleep, clock: Clock) -> None:
        """`pages`: the most that one crawl asks for."""
        self._clock = clock
        self._pages = pages
        self._sleep = sleep

    def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """See `crawl_run`."""
        config = connection.config
        depth = config.get("crawlDepth", _DEPTH)
        run = CrawlRun(
            http=connection.http,
            known=known,
            start=start_of(config),
            depth=int(depth),
            pages=self._pages,
            sleep=self._sleep,
            now=self._clock.now(),
        )
        return run.steps(cursor)
