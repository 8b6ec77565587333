"""What is kept of a page that was read: enough to ask whether it changed, and not to ask at all."""

import json
from dataclasses import dataclass
from hashlib import sha256

import httpx2


@dataclass(frozen=True, slots=True)
class Seen:
    """What is kept of a page. `crawl`: the last one that read it; `links`: short names of where it leads.

    `dated`: when it changed last, as the sitemap said when it was read; "": that can't be relied on.
    """

    crawl: int
    id: str = ""
    version: str = ""
    etag: str = ""
    modified: str = ""
    links: str = ""
    dated: str = ""

    @classmethod
    def read(cls, value: str) -> "Seen":
        """From a note."""
        return cls(*json.loads(value))

    def __str__(self) -> str:
        told = [self.crawl, self.id, self.version, self.etag, self.modified, self.links, self.dated]
        return json.dumps(told)


def conditions(page: Seen | None) -> dict[str, str]:
    """Headers that ask for a page only if it is not the one that is known."""
    if page is None:
        return {}
    told = {"if-none-match": page.etag, "if-modified-since": page.modified}
    return {name: value for name, value in told.items() if value}


def validators(response: httpx2.Response) -> tuple[str, str]:
    return response.headers.get("etag", ""), response.headers.get("last-modified", "")


def short(url: str) -> str:
    """A name for an address in a list of links: 48 bits are plenty for one site."""
    return sha256(url.encode()).hexdigest()[:12]
