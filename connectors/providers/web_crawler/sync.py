"""Crawl of one site: breadth first, rate limited, with conditional requests for known pages."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from urllib.parse import urlsplit

import httpx2
from lxml import etree

from connectors.client.concurrent_map import map_concurrently
from connectors.client.http_client import HttpClient
from connectors.client.request_throttle import SleepFunction
from connectors.errors import ItemError, UnusableSourceError
from connectors.providers.common.file_metadata import version_hash
from connectors.providers.common.item_fetcher import MALFORMED_ANSWER_ERRORS, ItemFetcher
from connectors.providers.web_crawler.browser_rendering import PageRenderer
from connectors.providers.web_crawler.content import PageContent, parse_page
from connectors.providers.web_crawler.robots_and_sitemaps import (
    RobotsRules,
    fetch_robots_rules,
    fetch_sitemap_urls,
    is_in_the_past,
    rules_for_page,
)
from connectors.providers.web_crawler.state import PageNames, PageState, cache_validators, conditional_headers, url_hash
from connectors.providers.web_crawler.url_normalization import is_crawler_trap, may_be_page, normalize_url, site_of
from connectors.sync_messages import (
    Checkpoint,
    Cursor,
    FailedItem,
    ItemFile,
    ProviderState,
    RemovedItem,
    SourceItem,
    SyncMessage,
    SyncState,
)
from pipeline.errors import ParsingError
from pipeline.parsing.charset_detection import decode
from pipeline.parsing.file_types import KIND_BY_MIME_TYPE
from schemas.base import Metadata, parse_iso_time
from schemas.crawl_options import CrawlOptions
from schemas.limits import MAX_FETCH_BYTES

_BATCH_PAGES = 20
_CONCURRENCY = 2
_MAX_REDIRECTS = 5
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_DOCUMENT_KINDS = frozenset(
    {"text", "markdown", "csv", "pdf", "docx", "pptx", "xlsx", "doc", "ppt", "xls", "odt", "ods", "odp", "epub", "rtf"}
)
_INDEX_NAME = re.compile(r"/(?:index|default|home)\.\w+$", re.IGNORECASE)
_ACCEPT_HEADER = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/pdf;q=0.8"
_MARKUP_ERRORS = (etree.LxmlError, RecursionError, AssertionError, *MALFORMED_ANSWER_ERRORS)
"""Errors of libraries that read hostile markup."""
_LOST_ADDRESS = (
    "Its address holds a secret that only pages that link to it know, and they could not be read. A later run will."
)
_GONE_STATUSES = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """Outcome of requesting a page: its final URL with a response or failure, or neither if redirected away."""

    requested_url: str
    final_url: str
    depth: int
    response: httpx2.Response | None = None
    failure: FailedItem | None = None


@dataclass(slots=True)
class CrawlSync:
    """Run of one connector. Pages go by their names (`PageNames`); only requests have the secrets of addresses."""

    http: HttpClient
    state: SyncState
    start_url: str
    max_depth: int
    max_pages: int
    sleep: SleepFunction
    now: datetime
    options: CrawlOptions = field(default_factory=CrawlOptions)
    renderer: PageRenderer | None = None
    crawl_number: int = 0
    rules: RobotsRules = field(init=False)
    fetcher: ItemFetcher = field(init=False)
    page_states: dict[str, PageState] = field(default_factory=dict)
    url_by_hash: dict[str, str] = field(default_factory=dict)
    frontier: deque[tuple[str, int]] = field(default_factory=deque)
    discovered_urls: set[str] = field(default_factory=set)
    handled_items: set[str] = field(default_factory=set)
    chosen_count: int = 0
    fetched_count: int = 0
    """Number of pages requested in this crawl, rather than skipped."""
    canonical_origin: str = ""
    """Origin of the start page after redirects; links are rewritten to it despite differences in `www` and TLS."""
    truncated: bool = False
    sitemap_dates: dict[str, str] = field(default_factory=dict)
    """Last changes by URL according to the sitemaps."""
    names: PageNames = field(init=False)
    incremental: bool = False
    """True if pages that the sitemap dates as unchanged are skipped; such a crawl can't be resumed."""

    def __post_init__(self) -> None:
        self.names = PageNames(self.start_url)
        self.start_url = self.names.name(self.start_url)
        self.canonical_origin = _origin_of(self.start_url)
        self.fetcher = ItemFetcher("The site", lambda: fetch_robots_rules(self.http, self.start_url), limits_items=True)

    async def run(self, cursor: Cursor | None) -> AsyncIterator[SyncMessage]:
        """Crawl the site and yield new and changed pages, then removals of pages that were not found.

        Crawls with a cursor skip pages that the sitemaps date as unchanged.
        """
        self.rules = await fetch_robots_rules(self.http, self.start_url)
        await self._load_page_states()
        interrupted = cursor is not None and bool(cursor.get("open")) and not cursor.get("incremental")
        continued = interrupted and await self._knows_frontier()
        self.incremental = cursor is not None and not interrupted
        self.truncated = continued and cursor is not None and bool(cursor.get("truncated"))
        async for step in self._resume_crawl() if continued else self._start_crawl():
            yield step
        saved = -1
        while self.frontier:
            if saved != self.fetched_count:
                saved = self.fetched_count
                open_ = {"open": True, "truncated": self.truncated, "incremental": self.incremental}
                yield Checkpoint({"crawl": self.crawl_number, **open_})
            async for step in self._crawl_batch():
                yield step
        async for step in self._remove_undiscovered():
            yield step
        yield Checkpoint({"crawl": self.crawl_number})

    async def _load_page_states(self) -> None:
        async for key, value in self.state.scan_provider_state("page/"):
            self._cache_page_state(key.removeprefix("page/"), PageState.parse(value))

    async def _knows_frontier(self) -> bool:
        """Return whether every page that a killed run left can be requested; if not, it begins anew."""
        async for key, _ in self.state.scan_provider_state("frontier/"):
            if self.names.is_lost(key.removeprefix("frontier/")):
                return False
        return True

    async def _start_crawl(self) -> AsyncIterator[SyncMessage]:
        """Fetch the start page, whose redirects determine the origin, then the sitemaps."""
        async for key, _ in self.state.scan_provider_state("frontier/"):
            yield ProviderState(key, None)
        self.crawl_number = int((await self.state.provider_state(["crawl"])).get("crawl", "0")) + 1
        yield ProviderState("crawl", str(self.crawl_number))
        for note in self._enqueue(self.start_url, 0):
            yield note
        if not self.frontier:
            message = "The site's robots.txt does not let this page be read. Ask its owner, or start elsewhere."
            yield FailedItem(self.start_url, message, code="not_allowed")
        async for step in self._crawl_batch():
            yield step
        yield ProviderState("canonical_origin", self.canonical_origin)
        async for url, changed in fetch_sitemap_urls(self.http, self.start_url, self.rules):
            for note in self._enqueue(url, 1):
                yield note
            if changed:
                self.sitemap_dates[self._with_canonical_origin(url)] = changed
        if self.incremental and not self.sitemap_dates:
            self.incremental = False
            for url, depth in self.frontier:
                yield ProviderState(f"frontier/{url}", str(depth))

    async def _resume_crawl(self) -> AsyncIterator[SyncMessage]:
        """Resume where a killed run stopped; pages that failed since its last checkpoint are requested again."""
        notes = await self.state.provider_state(["crawl", "canonical_origin"])
        self.crawl_number, self.canonical_origin = (
            int(notes.get("crawl", "0")),
            notes.get("canonical_origin") or self.canonical_origin,
        )
        left = {
            key.removeprefix("frontier/"): int(value)
            async for key, value in self.state.scan_provider_state("frontier/")
        }
        failures = {*await self.state.retryable_failures()}
        failed = {url for url in left if self._item_id(url) in failures}
        read = {url for url, page in self.page_states.items() if page.crawl_number == self.crawl_number} - failed
        self.discovered_urls = read | left.keys()
        self.handled_items = {self.page_states[url].item_id for url in read}
        self.chosen_count = len(read)
        self.frontier.extend(left.items())
        for url in read & left.keys():
            yield ProviderState(f"frontier/{url}", None)

    async def _crawl_batch(self) -> AsyncIterator[SyncMessage]:
        """Crawl the next pages: known ones, and new ones within documentLimit."""
        batch = [self.frontier.popleft() for _ in range(min(_BATCH_PAGES, len(self.frontier)))]
        fresh = [(url, "") for url, _ in batch if url not in self.page_states]
        placed = await self.state.select_changed(fresh) | self.page_states.keys()
        chosen = [page for page in batch if page[0] in placed][: max(0, self.max_pages - self.chosen_count)]
        self.chosen_count += len(chosen)
        self.truncated = self.truncated or len(chosen) < len(batch)
        believed = [(url, depth) for url, depth in chosen if self._is_unchanged_in_sitemap(url)]
        for url, depth in believed:
            self.handled_items.add(self.page_states[url].item_id)
            for note in self._enqueue_stored_links(self.page_states[url], depth):
                yield note
        others = [page for page in chosen if page not in believed]
        self.fetched_count += len(others)
        async for answered in map_concurrently(others, self._fetch_page, 1 if self.rules.delay else _CONCURRENCY):
            async for step in self._handle_outcome(answered):
                yield step
        for url, _ in () if self.incremental else batch:
            yield ProviderState(f"frontier/{url}", None)

    async def _fetch_page(self, page: tuple[str, int]) -> FetchOutcome:
        """Fetch a page conditionally; passing and permanent failures are reported as such."""
        url, depth = page
        if url == self.start_url:
            return await self._fetch_with_redirects(url, depth)
        found = await self.fetcher.fetch(self._item_id(url), None, lambda: self._fetch_with_redirects(url, depth))
        return FetchOutcome(url, url, depth, failure=found) if isinstance(found, FailedItem) else found

    async def _fetch_with_redirects(self, url: str, depth: int) -> FetchOutcome:
        """Follow redirects within the site, applying the rules for links to each."""
        where = url
        for _ in range(_MAX_REDIRECTS + 1):
            if self.rules.delay:
                await self.sleep(self.rules.delay)
            headers = {"accept": _ACCEPT_HEADER} | conditional_headers(self.page_states.get(where))
            response = await self.http.get(
                self.names.address(where), headers=headers, max_bytes=MAX_FETCH_BYTES, follow_redirects=False
            )
            if not response.has_redirect_location:
                return FetchOutcome(url, where, depth, response)
            target = normalize_url(response.headers["location"], where)
            following = target and self.names.name(target)
            if following is None or site_of(following) != site_of(self.start_url) or not self.rules.allows(following):
                if url == self.start_url:
                    raise UnusableSourceError(f"{url} leads to {following}, which the crawl may not read. Start there.")
                return FetchOutcome(url, where, depth)
            if url != self.start_url and not self._is_in_scope(following):
                return FetchOutcome(url, where, depth)
            if url == self.start_url:
                self.canonical_origin = _origin_of(following)
            if following != url and following in self.discovered_urls:
                return FetchOutcome(url, where, depth)
            where = following
            self.discovered_urls.add(where)
        return FetchOutcome(
            url, url, depth, failure=FailedItem(self._item_id(url), "The page redirects without an end.")
        )

    async def _handle_outcome(self, outcome: FetchOutcome) -> AsyncIterator[SyncMessage]:
        if outcome.final_url != outcome.requested_url or (outcome.response is None and outcome.failure is None):
            for step in self._remove_page(outcome.requested_url):
                yield step
        steps: list[SyncMessage] = []
        if outcome.failure is not None:
            steps = self._record_failure(outcome, outcome.failure)
        elif outcome.response is not None:
            steps = await self._handle_response(outcome, outcome.response)
        for step in steps:
            yield step

    async def _handle_response(self, outcome: FetchOutcome, response: httpx2.Response) -> list[SyncMessage]:
        url, status = outcome.final_url, response.status_code
        if status == 304 and url in self.page_states:
            return await self._handle_not_modified(outcome)
        if status >= 400 and outcome.requested_url == self.start_url:
            raise UnusableSourceError(f"{self.start_url} answered {status}. Check the address.")
        if status in _GONE_STATUSES:
            return self._remove_page(url)
        if status >= 300:
            failure = FailedItem(self._item_id(url), f"The page answered {status}.", code="not_allowed")
            return self._record_failure(outcome, failure)
        return await self._handle_success(outcome, response)

    async def _handle_success(self, outcome: FetchOutcome, response: httpx2.Response) -> list[SyncMessage]:
        steps: list[SyncMessage] = []
        try:
            await self._handle_content(outcome, response, steps)
        except ParsingError as error:
            failure = FailedItem(self._item_id(outcome.final_url), str(error))
        except ItemError as error:
            failure = FailedItem.of_error(self._item_id(outcome.final_url), None, error)
        except _MARKUP_ERRORS:
            message = "The page's markup can't be read. Report its address."
            failure = FailedItem(self._item_id(outcome.final_url), message, code="malformed")
        else:
            return steps
        return steps + self._record_failure(outcome, failure)

    async def _handle_not_modified(self, outcome: FetchOutcome) -> list[SyncMessage]:
        page = self.page_states[outcome.final_url]
        if page.item_id and page.item_id not in self.handled_items:
            await self.state.select_changed([(page.item_id, page.version)])
            self.handled_items.add(page.item_id)
        return [
            *self._enqueue_stored_links(page, outcome.depth),
            self._save_page_state(outcome.final_url, page),
        ]

    def _enqueue_stored_links(self, page: PageState, depth: int) -> list[SyncMessage]:
        known_urls = [self.url_by_hash[name] for name in page.links.split() if name in self.url_by_hash]
        lost = [url for url in known_urls if self.names.is_lost(url) and url not in self.discovered_urls]
        self.discovered_urls.update(lost)
        failures = [FailedItem(self._item_id(url), _LOST_ADDRESS, code="unavailable") for url in lost]
        return [*failures, *(note for url in known_urls for note in self._enqueue(url, depth + 1))]

    async def _handle_content(self, outcome: FetchOutcome, response: httpx2.Response, steps: list[SyncMessage]) -> None:
        """Add what a page leads to, up to an error in its content."""
        media = _media_type(response)
        if media not in _HTML_TYPES:
            steps += await self._handle_file(outcome.final_url, response, media)
            return
        page, validators = await self._read_page(outcome.final_url, response)
        rules = rules_for_page(response.headers.get_list("x-robots-tag"))
        page = replace(page, links=()) if rules & {"nofollow", "none"} else page
        steps += [note for link in page.links for note in self._enqueue(link, outcome.depth + 1)]
        if page.canonical is None and (declared := response.links.get("canonical")):
            page = replace(page, canonical=normalize_url(declared["url"], outcome.final_url))
        id_ = self.names.name(self._canonical_url(page, outcome.final_url))
        wanted = page.indexable and not rules & {"noindex", "none"}
        # What a browser shows is all there is: a short page about JavaScript is a page.
        if wanted and (not page.text or (page.needs_javascript and self.renderer is None)):
            steps += self._record_failure(outcome, _textless_failure(self._item_id(outcome.final_url), page))
            return
        indexed = wanted and bool(page.text)
        mark = version_hash(page.title, page.text)
        if not indexed:
            steps.append(RemovedItem(id_))
        elif id_ not in self.handled_items:
            self.handled_items.add(id_)
            if await self.state.select_changed([(id_, mark)]):
                steps.append(_page_item(id_, mark, page, outcome.final_url, response))
        if id_ != outcome.final_url or not indexed:
            # Requested under its own URL before its canonical URL was known.
            steps.append(RemovedItem(outcome.final_url))
        ours = [self._with_canonical_origin(link) for link in page.links if site_of(link) == site_of(self.start_url)]
        names = [*dict.fromkeys(map(self.names.name, ours))]
        # A page whose links are signed anew each time has to be read each time.
        lasts = all(map(self.names.lasts, names))
        links = " ".join(map(url_hash, names))
        kept = PageState(self.crawl_number, id_ if indexed else "", mark, *(validators if lasts else ("", "")), links)
        steps.append(self._save_page_state(outcome.final_url, kept, dated=lasts))

    async def _read_page(self, url: str, response: httpx2.Response) -> tuple[PageContent, tuple[str, str]]:
        """Parse a page, rendered if it needs that, with its validators; those of a rendered page say nothing."""
        source = await asyncio.to_thread(decode, response.content, response.headers.get("content-type"))
        page = await asyncio.to_thread(parse_page, source, url)
        if not page.needs_javascript or self.renderer is None:
            return page, cache_validators(response)
        shown = await self.renderer.render(self.names.address(url))
        return await asyncio.to_thread(parse_page, shown, url), ("", "")

    async def _handle_file(self, url: str, response: httpx2.Response, media: str) -> list[SyncMessage]:
        """Return a text or office document as an item; ignore other types."""
        mark = sha256(response.content).hexdigest()[:24]
        if KIND_BY_MIME_TYPE.get(media) not in _DOCUMENT_KINDS or not response.content:
            kept = PageState(self.crawl_number, "", mark, *cache_validators(response))
            return [RemovedItem(url), self._save_page_state(url, kept)]
        self.handled_items.add(url)
        steps: list[SyncMessage] = []
        if await self.state.select_changed([(url, mark)]):
            name = urlsplit(url).path.rpartition("/")[2] or "index"
            file = ItemFile(response.content, name, media)
            steps.append(SourceItem(url, mark, name, file=file, url=url, metadata=_response_metadata(url, response)))
        kept = PageState(self.crawl_number, url, mark, *cache_validators(response))
        return [*steps, self._save_page_state(url, kept)]

    async def _remove_undiscovered(self) -> AsyncIterator[SyncMessage]:
        """Remove pages that are no longer linked, unless the page limit cut the crawl short."""
        if not self.truncated:
            for url in self.page_states.keys() - self.discovered_urls:
                for step in self._remove_page(url):
                    yield step

    def _record_failure(self, outcome: FetchOutcome, failure: FailedItem) -> list[SyncMessage]:
        """Record a failed page as present, and enqueue its stored links.

        Also a page that was never read is stored, because an unchanged page refers to its links by their hashes.
        """
        self.handled_items.add(failure.id)
        page = self.page_states.get(outcome.final_url, PageState(self.crawl_number))
        kept = self._save_page_state(
            outcome.final_url, page, dated=False
        )  # requested again in the next crawl, whatever the sitemap says
        return [failure, *self._enqueue_stored_links(page, outcome.depth), kept]

    def _canonical_url(self, page: PageContent, url: str) -> str:
        """Return the page's canonical URL if it belongs to this site, else its own."""
        canonical = page.canonical
        own = canonical is not None and site_of(canonical) == site_of(self.start_url)
        if canonical is not None and urlsplit(canonical).path == "/" and not _INDEX_NAME.search(urlsplit(url).path):
            own = own and urlsplit(url).path == "/"  # some sites name the home page as canonical on every page
        return self._with_canonical_origin(canonical) if own and canonical is not None else url

    def _with_canonical_origin(self, url: str) -> str:
        return self.canonical_origin + url.removeprefix(_origin_of(url))

    def _enqueue(self, url: str, depth: int) -> list[ProviderState]:
        """Enqueue a URL that belongs to the site, is allowed, within the depth limit, and no crawler trap."""
        if site_of(url) == site_of(self.start_url):
            url = self._with_canonical_origin(url)
        url = self.names.name(url)
        if (
            url in self.discovered_urls
            or depth > self.max_depth
            or site_of(url) != site_of(self.start_url)
            or is_crawler_trap(url)
            or not may_be_page(url)
            or not self._is_in_scope(url)
            or not self.rules.allows(url)
            or len(self.discovered_urls) >= 5 * self.max_pages
        ):
            return []
        self.discovered_urls.add(url)
        self.frontier.append((url, depth))
        return [] if self.incremental else [ProviderState(f"frontier/{url}", str(depth))]

    def _is_in_scope(self, url: str) -> bool:
        """Return whether a page of the site is to be read: the start page, and what the options allow."""
        return self.options.allows(url) or url == self._with_canonical_origin(self.start_url)

    def _remove_page(self, url: str) -> list[SyncMessage]:
        """Remove a page, and its document unless another page has the same canonical URL."""
        page = self.page_states.pop(url, None)
        id_ = page.item_id if page is not None and page.item_id else url
        gone: list[SyncMessage] = [] if id_ in self.handled_items else [RemovedItem(id_)]
        return [*gone, ProviderState(f"page/{url}", None)]

    def _is_unchanged_in_sitemap(self, url: str) -> bool:
        page = self.page_states.get(url)
        return (
            self.incremental
            and page is not None
            and bool(page.sitemap_date)
            and page.sitemap_date == self.sitemap_dates.get(url)
        )

    def _save_page_state(self, url: str, page: PageState, *, dated: bool = True) -> ProviderState:
        sitemap_date = self.sitemap_dates.get(url, "") if dated else ""
        kept = replace(
            page,
            crawl_number=self.crawl_number,
            sitemap_date=sitemap_date if is_in_the_past(sitemap_date, self.now) else "",
        )
        self._cache_page_state(url, kept)
        return ProviderState(f"page/{url}", str(kept))

    def _cache_page_state(self, url: str, page: PageState) -> None:
        self.page_states[url] = page
        self.url_by_hash[url_hash(url)] = url

    def _item_id(self, url: str) -> str:
        page = self.page_states.get(url)
        return page.item_id if page is not None and page.item_id else url


def _page_item(id_: str, version: str, page: PageContent, url: str, response: httpx2.Response) -> SourceItem:
    values: Mapping[str, str | None] = {
        "author": page.author,
        "description": page.description,
        "publishedAt": page.published,
        "updatedAt": page.updated,
    }
    metadata = _response_metadata(id_, response) | {name: value for name, value in values.items() if value}
    title = page.title or urlsplit(url).path
    date = parse_iso_time(page.published or "") or parse_iso_time(page.updated or "")
    return SourceItem(id=id_, version=version, title=title, text=page.text, url=id_, metadata=metadata, date=date)


def _textless_failure(id_: str, page: PageContent) -> FailedItem:
    if page.needs_javascript:
        message = (
            "The page has no text without JavaScript. Ask the operator to set RECOLLECT_CRAWLER_BROWSER; if it is set,"
            " the page builds its text only after a login or a click."
        )
        return FailedItem(id_, message, page.title, "needs_javascript")
    return FailedItem(id_, "No text was found in the page.", page.title, "empty")


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _media_type(response: httpx2.Response) -> str:
    """Return the type that a response names; without one it is what it looks like (RFC 9110, 8.3)."""
    named: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return named or ("text/html" if response.content.lstrip().startswith(b"<") else "text/plain")


def _response_metadata(url: str, response: httpx2.Response) -> Metadata:
    parts = urlsplit(url)
    return {"type": "webpage", "mimeType": _media_type(response), "site": parts.netloc, "path": parts.path}


def start_url_of(config: Mapping[str, str | float | bool], secrets: Mapping[str, str]) -> str:
    """Return the address to start at, which is kept with the secrets if it holds some."""
    start = normalize_url(secrets.get("startUrl", str(config.get("startUrl", ""))))
    if start is None:
        raise UnusableSourceError("The start URL is not an http or https address. Give another one.")
    return start
