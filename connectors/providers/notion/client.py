"""Client of Notion's API, in the version with data sources and pages as Markdown."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import httpx2

from connectors.client.http_client import HttpClient, answered_at
from connectors.client.json_answers import PageTrail, Shape, conforming, json_object, json_page
from connectors.errors import CursorExpiredError, ItemError
from connectors.providers.common.item_fetcher import item_response
from connectors.providers.notion.content import block_markdown
from connectors.providers.notion.enhanced_markdown import insert_blocks, unknown_blocks

API_VERSION: Final = "2026-03-11"
PAGE_SIZE: Final = 100
_PARENT: Final[Shape] = dict.fromkeys(("type", "page_id", "data_source_id", "database_id", "block_id"), str)
_RESULT: Final[Shape] = {
    **dict.fromkeys(("id", "object", "created_time", "last_edited_time", "url"), str),
    "parent": _PARENT,
    "database_parent": _PARENT,
    "properties": dict,
    "title": [dict],
}
"""What is read of a page or a data source in a list."""
MAX_PAGE_PARTS: Final = 500
"""Limit of block requests for a page that is too long for one response."""
_INACCESSIBLE_STATUSES: Final = frozenset({400, 403, 404})
_EMPTY_BLOCKS: Final = frozenset({"breadcrumb", "button", "template", "unsupported", "divider"})
"""Kinds of blocks without text that Markdown only names."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """Page of results with the provider's time of the response, None if unknown.

    `incomplete`: the provider ended the list before its end.
    """

    results: list[dict[str, Any]]
    next_cursor: str | None
    answered_at: datetime | None
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class PageMarkdown:
    """Text of a page; `left_out` tells why it is only a part, None if it is whole."""

    text: str
    left_out: str | None = None


class NotionClient:
    def __init__(self, http: HttpClient, base_url: str, token: str | None = None) -> None:
        """`token`: that of an internal integration, in place of the connector's own."""
        self._http = http
        self._base_url = base_url
        self._headers = {"notion-version": API_VERSION}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"

    async def get_response(self, path: str) -> httpx2.Response:
        """Send a GET and return the response, whatever its status."""
        return await self._http.get(f"{self._base_url}/v1/{path}", headers=self._headers)

    async def get_if_accessible(self, path: str) -> dict[str, Any] | None:
        """Fetch an object; None if it is missing or not shared."""
        answer = await self.get_response(path)
        return None if answer.status_code in _INACCESSIBLE_STATUSES else json_object(answer)

    async def get_unless_missing(self, path: str) -> dict[str, Any] | None:
        """Fetch an object; None if Notion says that it is gone or not shared, ItemError if it says anything else."""
        answer = await self.get_response(path)
        return None if answer.status_code == 404 else json_object(item_response(answer, "Notion"))

    async def list_all(self, path: str) -> list[dict[str, Any]]:
        """Fetch all pages of a list; ItemError if Notion refuses it."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        trail = PageTrail("Notion")
        while True:
            url = path if cursor is None else f"{path}{'&' if '?' in path else '?'}start_cursor={cursor}"
            results, page = json_page(item_response(await self.get_response(url), "Notion"), "results")
            found += results
            cursor = trail.follow(page.get("next_cursor") if page.get("has_more") else None)
            if cursor is None:
                return found

    async def query_page(self, path: str, body: Mapping[str, Any]) -> ResultPage:
        answer = await self._http.request(
            "POST",
            f"{self._base_url}/v1/{path}",
            json={"page_size": PAGE_SIZE, **body},
            headers=self._headers,
            idempotent=True,
        )
        if answer.status_code >= 400 and path.startswith("data_sources/"):
            item_response(answer, "Notion")
        if answer.status_code == 400 and "start_cursor" in body:
            raise CursorExpiredError("Notion does not know this page of a list any more.")
        results, found = json_page(answer, "results")
        return ResultPage(
            [entry for entry in conforming(results, [_RESULT]) if entry.get("id")],
            found.get("next_cursor"),
            answered_at(answer),
            (found.get("request_status") or {}).get("type") == "incomplete",
        )

    async def query_all(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[ResultPage]:
        following: str | None = None
        trail = PageTrail("Notion")
        while True:
            page = await self.query_page(path, {**body, "start_cursor": following} if following else body)
            yield page
            following = trail.follow(page.next_cursor)
            if following is None:
                return

    async def search_newest_first(self, **filters: Any) -> AsyncIterator[ResultPage]:
        """Search all shared objects, last changed first; the index has a resolution of a minute and gaps."""
        sort = {"timestamp": "last_edited_time", "direction": "descending"}
        async for page in self.query_all("search", {"sort": sort, **({"filter": filters} if filters else {})}):
            yield page

    async def data_source_rows(self, source: str) -> AsyncIterator[ResultPage]:
        """Iterate the rows of a data source, also beyond the number that one query returns."""
        body: dict[str, Any] = {"sorts": [{"timestamp": "created_time", "direction": "ascending"}]}
        while True:
            last = ""
            async for page in self.query_all(f"data_sources/{source}/query", body):
                yield page
                last = str(page.results[-1].get("created_time") or "") if page.results else last
            condition = {"timestamp": "created_time", "created_time": {"on_or_after": last}}
            if not (page.incomplete and last) or body.get("filter") == condition:
                return
            body = {**body, "filter": condition}

    async def page_markdown(self, page: str) -> PageMarkdown | None:
        """Fetch a page's Markdown, in parts if it is long; None if there is none, else ItemError."""
        body = await self.get_unless_missing(f"pages/{page}/markdown?include_transcript=true")
        if body is None:
            return None
        text, left_out = _markdown_of(body)
        parts: dict[str, str] = {}
        asked: set[str] = set()
        missing = dict.fromkeys(body.get("unknown_block_ids") or (), "") | unknown_blocks(text)
        truncated = set(body.get("unknown_block_ids") or ())
        while missing:
            block, kind = missing.popitem()
            if block in asked or kind in _EMPTY_BLOCKS:
                continue
            if len(asked) >= MAX_PAGE_PARTS:
                left_out = f"The page has more than {MAX_PAGE_PARTS} parts that are read one by one. Split it."
                break
            asked.add(block)
            part, cut, unknown = await self._page_part(block, truncated=block in truncated)
            left_out = left_out or cut
            truncated |= set(unknown)
            parts |= {block: part} if part.strip() else {}
            missing |= unknown | unknown_blocks(part)
        return PageMarkdown(_inserted(text, parts), left_out)

    async def _page_part(self, block: str, *, truncated: bool) -> tuple[str, str | None, dict[str, str]]:
        """Fetch the Markdown that a page was too long for, or else a block that has none."""
        if truncated:
            part = await self.get_if_accessible(f"pages/{block}/markdown")
            if part is None:
                return "", None, {}
            return *_markdown_of(part), dict.fromkeys(part.get("unknown_block_ids") or (), "")
        found = await self.get_if_accessible(f"blocks/{block}")
        return ("" if found is None else block_markdown(found)), None, {}


def _markdown_of(body: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the Markdown of an answer, and why it is cut short if it does not name the blocks that are missing."""
    if not isinstance(body.get("markdown"), str):
        raise ItemError("Notion sent this page without its text.", code="malformed", retryable=True)
    is_cut = body.get("truncated") and not body.get("unknown_block_ids")
    return body["markdown"], "The page is longer than Notion hands out. Split it." if is_cut else None


def _inserted(text: str, parts: dict[str, str]) -> str:
    while parts:
        inside = {id_ for part in parts.values() for id_ in unknown_blocks(part)} & parts.keys()
        first = {id_: part for id_, part in parts.items() if id_ not in inside} or parts
        text = insert_blocks(text, first)
        parts = {id_: part for id_, part in parts.items() if id_ not in first}
    return text
