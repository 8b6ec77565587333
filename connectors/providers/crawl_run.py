"""A crawl of one site: breadth first, politely, and with conditional requests for what is known."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import httpx2

from connectors.concurrency import mapped
from connectors.errors import ConnectorError, NotFetchedError, UnavailableError
from connectors.http import Http, origin
from connectors.pace import Sleep
from connectors.ports import Checkpoint, Cursor, Failure, File, Item, Known, Note, Removed, Step
from connectors.providers.crawl_page import PageText, page_of
from connectors.providers.crawl_seen import Seen, conditions, short, validators
from connectors.providers.crawl_site import Rules, is_over, rules_of, sitemap_addresses
from connectors.providers.crawl_urls import astray, normal, site, worth_asking
from connectors.providers.files import version
from pipeline.errors import ExtractionError
from pipeline.extraction.charset import decode
from schemas.base import Metadata
from schemas.limits import FETCH_BYTES

_BATCH = 20
_WIDTH = 2
_IN_A_ROW = 3
_REDIRECTS = 5
_MARKUP = frozenset({"text/html", "application/xhtml+xml"})
_PLAIN = frozenset({"text/plain", "text/markdown"})
_ACCEPT = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/pdf;q=0.8"
_GONE = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class Answered:
    """A page that was asked for: where it really is, and what came of it; nothing: it is told elsewhere."""

    asked: str
    url: str
    depth: int
    response: httpx2.Response | None = None
    failure: Failure | None = None


@dataclass(slots=True)
class CrawlRun:
    """One run of one connector."""

    http: Http
    known: Known
    start: str
    depth: int
    pages: int
    sleep: Sleep
    now: datetime
    number: int = 0
    rules: Rules = field(init=False)
    seen: dict[str, Seen] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    waiting: deque[tuple[str, int]] = field(default_factory=deque)
    met: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    asked: int = 0
    sent: int = 0
    """Of the pages that this crawl came to those that were really asked for."""
    home: str = ""
    """Where the site really is: its links are written with this host, whatever they say of `www` and TLS."""
    partial: bool = False
    broken: int = 0
    dated: dict[str, str] = field(default_factory=dict)
    """When pages changed last, as the sitemaps say."""
    light: bool = False
    """What the sitemap dates as before is believed and not asked for. Such a crawl is not continued."""

    async def steps(self, cursor: Cursor | None) -> AsyncIterator[Step]:
        """The whole site: what is new, what changed, and last what is not found any more.

        After the first crawl what the sitemaps date as before is not asked for, until one without a cursor.
        """
        self.rules = await rules_of(self.http, self.start)
        async for key, value in self.known.all_notes("page/"):
            self._remember(key.removeprefix("page/"), Seen.read(value))
        continued = cursor is not None and bool(cursor.get("open")) and not cursor.get("light")
        self.light = cursor is not None and not continued
        self.partial = continued and cursor is not None and bool(cursor.get("partial"))
        async for step in self._continued() if continued else self._begun():
            yield step
        saved = -1
        while self.waiting:
            if saved != self.sent:
                saved = self.sent
                open_ = {"open": True, "partial": self.partial, "light": self.light}
                yield Checkpoint({"crawl": self.number, **open_})
            async for step in self._round():
                yield step
        async for step in self._ended():
            yield step
        yield Checkpoint({"crawl": self.number})

    async def _begun(self) -> AsyncIterator[Step]:
        """The start page, which says where the site really is; then its sitemaps."""
        async for key, _ in self.known.all_notes("todo/"):
            yield Note(key, None)
        self.number = int((await self.known.notes(["crawl"])).get("crawl", "0")) + 1
        yield Note("crawl", str(self.number))
        for note in self._add(self.start, 0):
            yield note
        if not self.waiting:
            message = (
                "The site's robots.txt does not let this page be read. Ask its owner, or start elsewhere."
            )
            yield Failure(self.start, message, code="not_allowed")
        async for step in self._round():
            yield step
        yield Note("home", self.home)
        async for url, changed in sitemap_addresses(self.http, self.start, self.rules):
            for note in self._add(url, 1):
                yield note
            if changed:
                self.dated[self._at_home(url)] = changed
        if self.light and not self.dated:
            self.light = False
            for url, depth in self.waiting:
                yield Note(f"todo/{url}", str(depth))

    async def _continued(self) -> AsyncIterator[Step]:
        """From where a killed run stopped."""
        notes = await self.known.notes(["crawl", "home"])
        self.number, self.home = int(notes.get("crawl", "0")), notes.get("home", self.home)
        left = {key.removeprefix("todo/"): int(value) async for key, value in self.known.all_notes("todo/")}
        read = {url for url, page in self.seen.items() if page.crawl == self.number}
        self.met = read | left.keys()
        self.told = {self.seen[url].id for url in read}
        self.asked = len(read)
        self.waiting.extend(left.items())
        for url in read & left.keys():
            yield Note(f"todo/{url}", None)

    async def _round(self) -> AsyncIterator[Step]:
        """The next few pages: those that are known, and of the others those for which there is a place."""
        batch = [self.waiting.popleft() for _ in range(min(_BATCH, len(self.waiting)))]
        fresh = [(url, "") for url, _ in batch if url not in self.seen]
        placed = await self.known.wanted(fresh) | self.seen.keys()
        chosen = [page for page in batch if page[0] in placed][: max(0, self.pages - self.asked)]
        self.asked += len(chosen)
        self.partial = self.partial or len(chosen) < len(batch)
        believed = [(url, depth) for url, depth in chosen if self._is_dated_as_before(url)]
        for url, depth in believed:
            self.told.add(self.seen[url].id)
            for note in self._linked(self.seen[url], depth):
                yield note
        others = [page for page in chosen if page not in believed]
        self.sent += len(others)
        async for answered in mapped(others, self._asked, 1 if self.rules.delay else _WIDTH):
            async for step in self._read(answered):
                yield step
        for url, _ in () if self.light else batch:
            yield Note(f"todo/{url}", None)

    async def _asked(self, page: tuple[str, int]) -> Answered:
        """Ask for a page, with what is known of it. What can't be had now, or ever, is said so."""
        url, depth = page
        try:
            found = await self._followed(url, depth)
        except NotFetchedError as error:
            if url == self.start:
                raise
            return Answered(url, url, depth, failure=Failure(self._id(url), str(error), code="too_large"))
        except UnavailableError as error:
            self.broken += 1
            if url == self.start or self.broken >= _IN_A_ROW:
                raise
            failure = Failure(self._id(url), str(error), code="unavailable", again=True)
            return Answered(url, url, depth, failure=failure)
        self.broken = 0
        return found

    async def _followed(self, url: str, depth: int) -> Answered:
        """Redirects within the site, each as if it were a link."""
        where = url
        for _ in range(_REDIRECTS + 1):
            if self.rules.delay:
                await self.sleep(self.rules.delay)
            headers = {"accept": _ACCEPT} | conditions(self.seen.get(where))
            response = await self.http.get(where, headers=headers, limit=FETCH_BYTES, follow=False)
            if not response.has_redirect_location:
                return Answered(url, where, depth, response)
            following = normal(response.headers["location"], where)
            if following is None or site(following) != site(self.start) or not self.rules.allows(following):
                if url == self.start:
                    raise ConnectorError(f"{url} leads to {following}, which is not to be read. Start there.")
                return Answered(url, where, depth)
            if url == self.start:
                self.home = origin(following)
            if following != url and following in self.met:
                return Answered(url, where, depth)
            where = following
            self.met.add(where)
        return Answered(url, url, depth, failure=Failure(self._id(url), "The page redirects without an end."))

    async def _read(self, answered: Answered) -> AsyncIterator[Step]:
        """What came of a page."""
        if answered.url != answered.asked or (answered.response is None and answered.failure is None):
            for step in self._dropped(answered.asked):
                yield step
        if answered.failure is not None:
            for step in self._failed(answered, answered.failure):
                yield step
        elif answered.response is not None:
            async for step in self._answer(answered, answered.response):
                yield step

    async def _answer(self, answered: Answered, response: httpx2.Response) -> AsyncIterator[Step]:
        url, status = answered.url, response.status_code
        if status == 304 and url in self.seen:
            async for step in self._unchanged(answered):
                yield step
        elif status >= 400 and answered.asked == self.start:
            raise ConnectorError(f"{self.start} answered {status}. Check the address.")
        elif status in _GONE:
            for step in self._dropped(url):
                yield step
        elif status >= 300:
            message = f"The page answered {status}."
            for step in self._failed(answered, Failure(self._id(url), message, code="not_allowed")):
                yield step
        else:
            async for step in self._readable(answered, response):
                yield step

    async def _readable(self, answered: Answered, response: httpx2.Response) -> AsyncIterator[Step]:
        try:
            async for step in self._content(answered, response):
                yield step
        except ExtractionError as error:
            for step in self._failed(answered, Failure(self._id(answered.url), str(error))):
                yield step

    async def _unchanged(self, answered: Answered) -> AsyncIterator[Step]:
        page = self.seen[answered.url]
        if page.id and page.id not in self.told:
            await self.known.wanted([(page.id, page.version)])
            self.told.add(page.id)
        for note in self._linked(page, answered.depth):
            yield note
        yield self._keep(answered.url, page)

    def _linked(self, page: Seen, depth: int) -> list[Note]:
        """Go on to where a page led when it was last read."""
        known = [self.named[name] for name in page.links.split() if name in self.named]
        return [note for url in known for note in self._add(url, depth + 1)]

    async def _content(self, answered: Answered, response: httpx2.Response) -> AsyncIterator[Step]:
        media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media not in _MARKUP:
            async for step in self._file(answered, response, media):
                yield step
            return
        source = await asyncio.to_thread(decode, response.content, response.headers.get("content-type"))
        page = await asyncio.to_thread(page_of, source, answered.url)
        for link in page.links:
            for note in self._add(link, answered.depth + 1):
                yield note
        tag = response.headers.get("x-robots-tag", "").lower()
        id_ = self._canonical(page, answered.url)
        indexed = page.indexed and "noindex" not in tag and "none" not in tag and bool(page.text)
        mark = version(page.title, page.text)
        if not indexed:
            yield Removed(id_)
        elif id_ not in self.told:
            self.told.add(id_)
            if await self.known.wanted([(id_, mark)]):
                yield _item(id_, mark, page, answered.url, response)
        if id_ != answered.url or not indexed:
            # Asked for under its own address before its name was known.
            yield Removed(answered.url)
        ours = [self._at_home(link) for link in page.links if site(link) == site(self.start)]
        links = " ".join(dict.fromkeys(map(short, ours)))
        kept = Seen(self.number, id_ if indexed else "", mark, *validators(response), links)
        yield self._keep(answered.url, kept)

    async def _file(self, answered: Answered, response: httpx2.Response, media: str) -> AsyncIterator[Step]:
        """A text or a PDF; anything else that a page leads to is no page."""
        url, name = answered.url, urlsplit(answered.url).path.rpartition("/")[2] or "index"
        mark = sha256(response.content).hexdigest()[:24]
        if media not in {*_PLAIN, "application/pdf"} or not response.content:
            yield Removed(url)
            yield self._keep(url, Seen(self.number, "", mark, *validators(response)))
            return
        self.told.add(url)
        if await self.known.wanted([(url, mark)]):
            file = File(response.content, name, media)
            yield Item(url, mark, name, file=file, url=url, metadata=_told(url, response))
        yield self._keep(url, Seen(self.number, url, mark, *validators(response)))

    async def _ended(self) -> AsyncIterator[Step]:
        """What this crawl did not come to is not linked any more, unless there was no room for all of it."""
        if not self.partial:
            for url in self.seen.keys() - self.met:
                for step in self._dropped(url):
                    yield step

    def _failed(self, answered: Answered, failure: Failure) -> list[Step]:
        """A page that could not be read this time is not missing, nor is what it led to."""
        self.told.add(failure.id)
        page = self.seen.get(answered.url)
        if page is None:
            return [failure]
        kept = self._keep(answered.url, page, dated=False)  # to be asked for again, whatever the sitemap says
        return [failure, *self._linked(page, answered.depth), kept]

    def _canonical(self, page: PageText, url: str) -> str:
        """What a page calls itself, where that is of this site."""
        canonical = page.canonical
        own = canonical is not None and site(canonical) == site(self.start)
        return self._at_home(canonical) if own and canonical is not None else url

    def _at_home(self, url: str) -> str:
        return self.home + url.removeprefix(origin(url)) if self.home else url

    def _add(self, url: str, depth: int) -> list[Note]:
        """Go to a page later, if it is of the site, allowed, near enough and not known to lead astray."""
        if site(url) == site(self.start):
            url = self._at_home(url)
        if (
            url in self.met
            or depth > self.depth
            or site(url) != site(self.start)
            or astray(url)
            or not worth_asking(url)
            or not self.rules.allows(url)
            or len(self.met) >= 5 * self.pages
        ):
            return []
        self.met.add(url)
        self.waiting.append((url, depth))
        return [] if self.light else [Note(f"todo/{url}", str(depth))]

    def _dropped(self, url: str) -> list[Step]:
        """A page is no more; its document goes unless another page stands for it."""
        page = self.seen.pop(url, None)
        id_ = page.id if page is not None and page.id else url
        gone: list[Step] = [] if id_ in self.told else [Removed(id_)]
        return [*gone, Note(f"page/{url}", None)]

    def _is_dated_as_before(self, url: str) -> bool:
        page = self.seen.get(url)
        return self.light and page is not None and bool(page.dated) and page.dated == self.dated.get(url)

    def _keep(self, url: str, page: Seen, *, dated: bool = True) -> Note:
        told = self.dated.get(url, "") if dated else ""
        kept = replace(page, crawl=self.number, dated=told if is_over(told, self.now) else "")
        self._remember(url, kept)
        return Note(f"page/{url}", str(kept))

    def _remember(self, url: str, page: Seen) -> None:
        self.seen[url] = page
        self.named[short(url)] = url

    def _id(self, url: str) -> str:
        page = self.seen.get(url)
        return page.id if page is not None and page.id else url


def _item(id_: str, mark: str, page: PageText, url: str, response: httpx2.Response) -> Item:
    told: Mapping[str, str | None] = {
        "author": page.author,
        "description": page.description,
        "publishedAt": page.published,
    }
    metadata = _told(id_, response) | {name: value for name, value in told.items() if value}
    title = page.title or urlsplit(url).path
    return Item(id=id_, version=mark, title=title, text=page.text, url=id_, metadata=metadata)


def _told(url: str, response: httpx2.Response) -> Metadata:
    parts = urlsplit(url)
    media = response.headers.get("content-type", "").partition(";")[0]
    told: dict[str, Any] = {"type": "webpage", "mimeType": media, "site": parts.netloc, "path": parts.path}
    return told


def start_of(config: Mapping[str, str | float | bool]) -> str:
    """Where a crawl begins."""
    start = normal(str(config.get("startUrl", "")))
    if start is None:
        raise ConnectorError("The start URL is no http or https address. Give another one.")
    return start
