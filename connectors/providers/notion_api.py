"""Notion's API in the version that has data sources and pages as Markdown."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx2

from connectors.http import Http, checked
from connectors.providers.notion_text import joined

VERSION: Final = "2026-03-11"
PAGE: Final = 100
PARTS: Final = 500
"""So many blocks are asked for, at most, of a page that is too long for one answer."""
_ABSENT: Final = frozenset({400, 403, 404})


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of results. `at`: the provider's clock when it answered; None where it did not say."""

    results: list[dict[str, Any]]
    following: str | None
    at: datetime | None


class Api:
    """Requests to one API address."""

    def __init__(self, http: Http, address: str) -> None:
        self._http = http
        self._address = address

    async def ask(self, path: str) -> httpx2.Response:
        """The answer to a GET, whatever its status."""
        return await self._http.get(f"{self._address}/v1/{path}", headers={"notion-version": VERSION})

    async def find(self, path: str) -> dict[str, Any] | None:
        """What is there; None: not there, or not shared with us."""
        answer = await self.ask(path)
        if answer.status_code in _ABSENT:
            return None
        found: dict[str, Any] = checked(answer)
        return found

    async def page_of(self, path: str, body: Mapping[str, Any]) -> Listing:
        """A page of what a POST lists."""
        answer = await self._http.request(
            "POST",
            f"{self._address}/v1/{path}",
            json={"page_size": PAGE, **body},
            headers={"notion-version": VERSION},
            repeatable=True,
        )
        found = checked(answer)
        date = answer.headers.get("date")
        return Listing(found["results"], found["next_cursor"], parsedate_to_datetime(date) if date else None)

    async def listed(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[Listing]:
        """All pages of what a POST lists."""
        following: str | None = None
        while True:
            page = await self.page_of(path, {**body, "start_cursor": following} if following else body)
            yield page
            following = page.following
            if following is None:
                return

    async def newest_first(self, **wanted: Any) -> AsyncIterator[Listing]:
        """What is shared with us, by the minute of its last change; the index behind it may lack some."""
        sort = {"timestamp": "last_edited_time", "direction": "descending"}
        async for page in self.listed("search", {"sort": sort, **({"filter": wanted} if wanted else {})}):
            yield page

    async def markdown(self, page: str) -> str | None:
        """All of a page; None: it is gone. A long one arrives in parts."""
        body = await self.find(f"pages/{page}/markdown?include_transcript=true")
        if body is None:
            return None
        parts: dict[str, str] = {}
        asked: set[str] = set()
        missing = list(body["unknown_block_ids"])
        while missing and len(asked) < PARTS:
            block = missing.pop(0)
            if block in asked:
                continue
            asked.add(block)
            part = await self.find(f"pages/{block}/markdown")
            if part is not None and part["markdown"].strip():
                parts[block] = part["markdown"]
                missing += part["unknown_block_ids"]
        return joined(str(body["markdown"]), parts)
