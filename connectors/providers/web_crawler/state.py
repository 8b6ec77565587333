"""Stored state of a crawled page, for conditional requests and for skipping unchanged pages."""

import json
from dataclasses import astuple, dataclass, field
from hashlib import sha256

import httpx2

from schemas.address_secrets import is_masked, mask_secrets, secret_values, with_secrets


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


@dataclass(slots=True)
class PageNames:
    """Names of the pages of one crawl, and the secrets that were seen in it, which are only held in memory.

    Addresses that differ only in a secret name one page, as a site that signs its links does so anew each time.
    """

    start_url: str
    _addresses: dict[str, str] = field(default_factory=dict)

    def name(self, url: str) -> str:
        """Return the name of an address."""
        name = mask_secrets(url)
        if name != url:
            self._addresses.setdefault(name, url)
        return name

    def address(self, name: str) -> str:
        """Return the address to request: as it was found, else with the secrets of the start page."""
        return self._addresses.get(name) or with_secrets(name, secret_values(self.start_url))

    def is_lost(self, name: str) -> bool:
        """Tell whether a secret of the page was seen in an earlier crawl only."""
        return is_masked(self.address(name))

    def lasts(self, name: str) -> bool:
        """Tell whether a later crawl knows the page's address without finding it anew."""
        return not is_masked(with_secrets(name, secret_values(self.start_url)))
