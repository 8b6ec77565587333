"""What a site says to crawlers: robots.txt (RFC 9309) and its sitemaps."""

import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Final
from urllib.parse import urljoin

from lxml import etree
from protego import Protego

from connectors.errors import NotFetchedError, UnavailableError
from connectors.http import USER_AGENT, Http
from connectors.providers.crawl_urls import normal, site

AGENT: Final = USER_AGENT.partition("/")[0]
"""The name that robots.txt calls us by."""
_ROBOTS_BYTES = 500 * 1024
_SITEMAP_BYTES = 50 * 1024 * 1024
_SITEMAPS = 50
_ADDRESSES = 50_000
_LONGEST_DELAY = 10.0


@dataclass(frozen=True, slots=True)
class Rules:
    """What robots.txt allows. `delay`: seconds between two requests."""

    robots: Protego
    delay: float
    sitemaps: tuple[str, ...]

    def allows(self, url: str) -> bool:
        """Whether an address may be asked for."""
        return bool(self.robots.can_fetch(url, AGENT))


async def rules_of(http: Http, start: str) -> Rules:
    """robots.txt. There is none (4xx): all is allowed. It can't be had: nothing is, so UnavailableError."""
    address = urljoin(start, "/robots.txt")
    try:
        response = await http.get(address, limit=_ROBOTS_BYTES * 4)
        text = "" if response.status_code >= 400 else response.text[:_ROBOTS_BYTES]
    except UnavailableError as error:
        raise UnavailableError(
            f"{address} can't be had, so nothing of the site may be read: {error}"
        ) from error
    except NotFetchedError as error:
        if "bytes" not in str(error):
            raise
        text = ""
    robots = Protego.parse(text)
    delay = min(float(robots.crawl_delay(AGENT) or 0.0), _LONGEST_DELAY)
    return Rules(robots, delay, tuple(robots.sitemaps) or (urljoin(start, "/sitemap.xml"),))


async def sitemap_addresses(http: Http, start: str, rules: Rules) -> AsyncIterator[tuple[str, str]]:
    """Addresses of this site that its sitemaps name, each with the time of its last change, if they tell.

    Indexes are followed, within the bounds of the protocol.
    """
    waiting = list(rules.sitemaps)
    seen: set[str] = set()
    named = 0
    while waiting and len(seen) < _SITEMAPS:
        address = normal(waiting.pop(0), start)
        if address is None or address in seen or site(address) != site(start):
            continue
        seen.add(address)
        try:
            response = await http.get(address, limit=_SITEMAP_BYTES)
        except (NotFetchedError, UnavailableError):
            continue  # a hint that can't be had: the links are still there
        if response.status_code >= 400:
            continue
        for index, found, changed in _locations(response.content):
            if index:
                waiting.append(found)
            elif (url := normal(found, start)) is not None and site(url) == site(start):
                yield url, changed
                named += 1
                if named >= _ADDRESSES:
                    return


def _locations(content: bytes) -> list[tuple[bool, str, str]]:
    """(whether it is another sitemap, address, last change) of each entry, as far as the file can be read."""
    found: list[tuple[bool, str, str]] = []
    events = etree.iterparse(
        BytesIO(_unzipped(content)),
        events=("end",),
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        load_dtd=False,
    )
    try:
        for _, element in events:
            name = etree.QName(element).localname if isinstance(element.tag, str) else ""
            if name in {"url", "sitemap"}:
                location = str(element.findtext("{*}loc") or "").strip()
                if location:
                    changed = str(element.findtext("{*}lastmod") or "").strip()
                    found.append((name == "sitemap", location, changed))
                element.clear()
                if len(found) >= _ADDRESSES:
                    break
    except etree.XMLSyntaxError:
        pass  # what was read before it broke is as good as the rest
    return found


def is_over(changed: str, now: datetime) -> bool:
    """Whether a sitemap's time of a change lies wholly before now: a day that is not over may see more."""
    try:
        at = datetime.fromisoformat(changed)
    except ValueError:
        return False
    end = at + timedelta(days=1) if len(changed) == len("2026-03-01") else at
    return (end if end.tzinfo else end.replace(tzinfo=UTC)) <= now


def _unzipped(content: bytes) -> bytes:
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return zlib.decompressobj(wbits=31).decompress(content, _SITEMAP_BYTES)
    except zlib.error:
        return b""
