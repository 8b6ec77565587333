"""Crawling rules of a site: robots.txt (RFC 9309), sitemaps, and what their dates say."""

import asyncio
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Final
from urllib.parse import urljoin

from lxml import etree
from protego import Protego

from connectors.client.http_client import USER_AGENT, HttpClient
from connectors.errors import ProviderUnavailableError, RateLimitedError, ResourceFetchError
from connectors.providers.web_crawler.url_normalization import normalize_url, site_of

ROBOTS_AGENT: Final = USER_AGENT.partition("/")[0]
"""Name of this crawler in robots.txt."""
_MAX_ROBOTS_BYTES = 500 * 1024
_MAX_SITEMAP_BYTES = 50 * 1024 * 1024
_MAX_SITEMAPS = 50
_MAX_SITEMAP_URLS = 50_000
_BARE_AMPERSAND = re.compile(
    rb"(<!\[CDATA\[(?:.*?\]\]>|.*))|&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\da-fA-F]+);)", re.DOTALL
)
_XML_DECLARATION = re.compile(rb"\A\s*<\?xml[^>]*\?>")
_ENTRY_ELEMENTS = frozenset({"url", "sitemap", "item", "entry"})
_MAX_CRAWL_DELAY_SECONDS = 10.0
_CRAWLER = re.compile(r"[a-z][\w.-]*")
_RULES_WITH_VALUES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """Rules of robots.txt, including the delay between requests in seconds."""

    robots: Protego
    delay: float
    sitemaps: tuple[str, ...]

    def allows(self, url: str) -> bool:
        return bool(self.robots.can_fetch(url, ROBOTS_AGENT))


async def fetch_robots_rules(http: HttpClient, start: str) -> RobotsRules:
    """Fetch robots.txt; 4xx allows everything, any other failure nothing: ProviderUnavailableError."""
    address = urljoin(start, "/robots.txt")
    try:
        response = await http.get(address, max_bytes=_MAX_ROBOTS_BYTES * 4)
        marked = response.content.startswith(BOM_UTF8)  # a mark would hide the first rule
        told = response.content.decode("utf-8-sig", errors="replace") if marked else response.text
        text = "" if response.status_code >= 400 else told[:_MAX_ROBOTS_BYTES]
    except ProviderUnavailableError as error:
        raise ProviderUnavailableError(
            f"{address} could not be fetched, so no page of the site may be read: {error}"
        ) from error
    except ResourceFetchError as error:
        if error.code != "too_large":
            raise
        text = ""
    robots = Protego.parse(text)
    delay = min(float(robots.crawl_delay(ROBOTS_AGENT) or 0.0), _MAX_CRAWL_DELAY_SECONDS)
    return RobotsRules(robots, delay, tuple(robots.sitemaps) or (urljoin(start, "/sitemap.xml"),))


def rules_for_page(tags: Iterable[str]) -> set[str]:
    """Return the rules that a page's meta elements or headers `X-Robots-Tag` have for us, such as `noindex`.

    In headers a rule may be for one crawler alone. A rule with a value, such as `max-image-preview:none`, is none of
    the rules without.
    """
    rules: set[str] = set()
    for tag in tags:
        crawler = ""
        for part in tag.lower().split(","):
            name, colon, rest = (word.strip() for word in part.partition(":"))
            has_value = name in _RULES_WITH_VALUES
            if colon and not has_value and _CRAWLER.fullmatch(name):
                crawler = name
            if crawler in {"", ROBOTS_AGENT} and not has_value:
                rules.update((rest if colon else name).split())
    return rules


async def fetch_sitemap_urls(http: HttpClient, start: str, rules: RobotsRules) -> AsyncIterator[tuple[str, str]]:
    """Yield the site's URLs in its sitemaps, each with its last change if given.

    Sitemap indexes are followed within the limits of the protocol. robots.txt may name sitemaps on other hosts, and
    these may name others beside them.
    """
    waiting = list(rules.sitemaps)
    named_by_robots = (normalize_url(address, start) for address in waiting)
    sites = {site_of(start), *(site_of(address) for address in named_by_robots if address)}
    seen: set[str] = set()
    named = 0
    while waiting and len(seen) < _MAX_SITEMAPS:
        address = normalize_url(waiting.pop(0), start)
        if address is None or address in seen or site_of(address) not in sites:
            continue
        seen.add(address)
        try:
            response = await http.get(address, max_bytes=_MAX_SITEMAP_BYTES)
        except (ResourceFetchError, ProviderUnavailableError, RateLimitedError):
            continue  # a sitemap is optional: pages are also found by links
        if response.status_code >= 400:
            continue
        for index, found, changed in await asyncio.to_thread(_parse_sitemap, response.content):
            if index:
                waiting.append(found)
            elif (url := normalize_url(found, start)) is not None and site_of(url) == site_of(start):
                yield url, changed
                named += 1
                if named >= _MAX_SITEMAP_URLS:
                    return


def _parse_sitemap(content: bytes) -> list[tuple[bool, str, str]]:
    """Parse entries as (is a sitemap, URL, last change): a sitemap or index, a feed, or a text of addresses."""
    text = _without_byte_order_mark(_gunzip(content))
    if not text.startswith(b"<"):
        lines = text.decode(errors="replace").split()
        return [(False, line, "") for line in lines if line.startswith(("http://", "https://"))][:_MAX_SITEMAP_URLS]
    found: list[tuple[bool, str, str]] = []
    events = etree.iterparse(
        BytesIO(_BARE_AMPERSAND.sub(lambda found: found[1] or b"&amp;", text)),
        events=("end",),
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        load_dtd=False,
        recover=True,
    )
    try:
        for _, element in events:
            name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
            if name in _ENTRY_ELEMENTS:
                location, changed = _entry_of(element)
                if location:
                    found.append((name == "sitemap", location, changed))
                element.clear()
                if len(found) >= _MAX_SITEMAP_URLS:
                    break
    except etree.XMLSyntaxError:
        pass  # the entries before a syntax error are still valid
    return found


def _entry_of(element: etree._Element) -> tuple[str, str]:
    """Return the address and the last change of a sitemap's or feed's entry."""
    location = element.findtext("{*}loc") or element.findtext("{*}link") or ""
    if not location.strip():
        links = [link for link in element.findall("{*}link") if link.get("rel", "alternate") == "alternate"]  # Atom
        location = links[0].get("href") or "" if links else ""
    if not location.strip():
        guid = element.find("{*}guid")  # RSS: an address unless it says otherwise
        location = "" if guid is None or guid.get("isPermaLink") == "false" else guid.text or ""
    return str(location).strip(), str(element.findtext("{*}lastmod") or "").strip()


def _without_byte_order_mark(text: bytes) -> bytes:
    """Remove the mark and blanks before a text; one of UTF-16 becomes UTF-8."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = _XML_DECLARATION.sub(b"", text.decode("utf-16", errors="replace").encode(), count=1)
    return text.lstrip(b"\xef\xbb\xbf \t\r\n")


def is_in_the_past(last_modified: str, now: datetime) -> bool:
    """Return whether a sitemap's time has passed; a date counts as passed only when its day is over."""
    try:
        at = datetime.fromisoformat(last_modified)
        end = at + timedelta(days=1) if len(last_modified) == len("2026-03-01") else at
    except (ValueError, OverflowError):
        return False
    return (end if end.tzinfo else end.replace(tzinfo=UTC)) <= now


def _gunzip(content: bytes) -> bytes:
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return zlib.decompressobj(wbits=31).decompress(content, _MAX_SITEMAP_BYTES)
    except zlib.error:
        return b""
