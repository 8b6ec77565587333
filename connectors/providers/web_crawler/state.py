"""Stored state of a crawled page, for conditional requests and for skipping unchanged pages."""

import json
from dataclasses import astuple, dataclass
from hashlib import sha256

import httpx2


@dataclass(frozen=True, slots=True)
class PageState:
    """State of a page: the last crawl that read it, hashes of its links, validators, and the sitemap's date.

    The date is the sitemap's at the time of reading, "" if it is unreliable.
    """

    crawl_number: int
    item_id: str = ""
    version: str = ""
    etag: str = ""
    last_modified: str = ""
    links: str = ""
    sitemap_date: str = ""

    @classmethod
    def parse(cls, value: str) -> "PageState":
        return cls(*json.loads(value))

    def __str__(self) -> str:
        return json.dumps(astuple(self))


def conditional_headers(page: PageState | None) -> dict[str, str]:
    if page is None:
        return {}
    values = {"if-none-match": page.etag, "if-modified-since": page.last_modified}
    return {name: value for name, value in values.items() if value}


def cache_validators(response: httpx2.Response) -> tuple[str, str]:
    return response.headers.get("etag", ""), response.headers.get("last-modified", "")


def url_hash(url: str) -> str:
    """Hash a URL to 48 bits, which suffices for the links of one site."""
    return sha256(url.encode()).hexdigest()[:12]
