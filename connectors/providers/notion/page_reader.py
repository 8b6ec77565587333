"""Reading of one Notion page: its text, properties with all values, names, comments and files."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from connectors.client.http_client import HttpClient
from connectors.client.json_answers import json_page
from connectors.errors import ItemError
from connectors.providers.common.item_fetcher import ItemFetcher, item_response
from connectors.providers.notion import content
from connectors.providers.notion.client import NotionClient
from connectors.providers.notion.enhanced_markdown import Names
from connectors.providers.notion.page_tree import PageTree
from connectors.sync_messages import (
    FailedItem,
    ItemFile,
    ProviderState,
    RemovedItem,
    SourceItem,
    SyncMessage,
    SyncState,
)
from schemas.base import Metadata
from schemas.limits import MAX_FILE_BYTES

FILES_PREFIX: Final = "files/"
"""Prefix of state keys of pages that had files when last read."""

_BEGINNING: Final = " beginning"
"""End of the version of a page that was read in part, so that it is read again."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """Page with what it refers to; `left_out` tells why only the beginning of its text was read."""

    item: SourceItem
    files: Sequence[content.Attachment]
    children: Sequence[str]
    databases: Sequence[str]
    left_out: str | None


@dataclass(slots=True)
class PageReader:
    """Reader of pages in one run; names of users are fetched once each."""

    client: NotionClient
    http: HttpClient
    state: SyncState
    tree: PageTree
    fetcher: ItemFetcher
    _users: dict[str, str] = field(default_factory=dict)
    _comments_readable: bool = True

    async def read(self, page: Mapping[str, Any], version: str) -> ReadPage | RemovedItem:
        """Read a page; RemovedItem if Notion says that it is gone, ItemError if it can't be read."""
        id_ = page["id"]
        enhanced = await self.client.page_markdown(id_)
        if enhanced is None:
            found = await self.client.get_unless_missing(f"pages/{id_}")
            if found is None or found.get("in_trash"):
                return RemovedItem(id_)
            raise ItemError(
                "Notion lists this page but does not return its text. Share the page with the connection again.",
                code="http_404",
                retryable=True,
            )
        if enhanced.left_out and await self._is_known_whole(id_):
            message = f"{enhanced.left_out} Its text as it was read before stays."
            raise ItemError(message, code="truncated", retryable=True)
        text = content.PageText(enhanced.text)
        properties = await self._complete_properties(page)
        comments = await self._comments(id_)
        authors = {author for entry in (page, *comments) if (author := content.author_id(entry))}
        names = Names(
            await self.tree.titles([*text.unnamed_pages, *content.related_pages(properties)]),
            await self._names_of_users({*authors, *text.unnamed_users, *content.unnamed_people(properties)}),
        )
        title = content.object_title({**page, "properties": properties}) or "Untitled"
        item = SourceItem(
            id_,
            f"{version}{_BEGINNING if enhanced.left_out else ''}",
            title,
            text=_body(
                title,
                content.property_lines(properties, names),
                text.markdown(names),
                content.comment_lines(comments, names.users),
            ),
            url=page.get("url"),
            metadata=await self._metadata(page, names.users.get(content.author_id(page) or "")),
            date=datetime.fromisoformat(page["last_edited_time"]),
        )
        files = [*text.attachments, *content.uploaded_files(properties)]
        return ReadPage(item, files, text.children, text.databases, enhanced.left_out)

    async def _is_known_whole(self, page: str) -> bool:
        """Return whether an earlier run read all of a page."""
        versions = [version async for id_, version in self.state.item_versions(page) if id_ == page]
        return any(not version.endswith(_BEGINNING) for version in versions)

    async def sync_files(
        self, page: Mapping[str, Any], files: Sequence[content.Attachment], *, had_files: bool
    ) -> AsyncIterator[SyncMessage]:
        """Sync a page's files, identified by the path of their URL, as its signature changes."""
        if not files and not had_files:
            return
        prefix = f"{page['id']}/files/"
        named: dict[str, content.Attachment] = {}
        for file in files:
            count = sum(other.name == file.name for other in named.values())
            named[prefix + file.name + (f" ({count + 1})" if count else "")] = file
        for gone in [id_ async for id_, _ in self.state.item_versions(prefix) if id_ not in named]:
            yield RemovedItem(gone)
        versions = [(id_, urlsplit(file.url).path) for id_, file in named.items()]
        changed_ids = await self.state.select_changed(versions)
        for id_, version in versions:
            if id_ in changed_ids:
                yield await self._fetch_or_fail(page, id_, version, named[id_])
        yield ProviderState(FILES_PREFIX + page["id"], "yes" if named else None)

    async def _fetch_or_fail(
        self, page: Mapping[str, Any], id_: str, version: str, file: content.Attachment
    ) -> SourceItem | FailedItem:
        async def fetch() -> SourceItem:
            answer = await self.http.get(file.url, max_bytes=MAX_FILE_BYTES, without_token=True)
            kept = ItemFile(item_response(answer, "Notion's file store").content, file.name)
            metadata = await self._metadata(page, None, file.name)
            return SourceItem(id_, version, file.name, file=kept, url=page.get("url"), metadata=metadata)

        return await self.fetcher.fetch(id_, file.name, fetch)

    async def _metadata(self, page: Mapping[str, Any], author: str | None, file: str | None = None) -> Metadata:
        path = await self.tree.path(page["id"])
        values = {
            "type": "page" if file is None else "file",
            "path": path if file is None else f"{path} / {file}",
            "createdAt": page.get("created_time"),
            "updatedAt": page.get("last_edited_time"),
            "author": author,
        }
        return {name: str(value) for name, value in values.items() if value}

    async def _complete_properties(self, page: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties with the values beyond those that the page lists."""
        properties = {name: value for name, value in page["properties"].items() if isinstance(value, Mapping)}
        for name, property_id in list(content.truncated_properties(properties)):
            items = await self.client.list_all(f"pages/{page['id']}/properties/{property_id}?page_size=100")
            properties[name] = content.merged_property(properties[name], items)
        return properties

    async def _comments(self, page: str) -> list[dict[str, Any]]:
        """Fetch the open comments on a page, if the connection may read comments."""
        if not self._comments_readable:
            return []
        answer = await self.client.get_response(f"comments?block_id={page}&page_size=100")
        if answer.status_code in {400, 403, 404}:
            self._comments_readable = answer.status_code != 403
            return []
        results, found = json_page(item_response(answer, "Notion"), "results")
        if not found.get("has_more"):
            return results
        return await self.client.list_all(f"comments?block_id={page}&page_size=100")

    async def _names_of_users(self, ids: Iterable[str]) -> Mapping[str, str]:
        """Return users' names; unknown ones are fetched, if the connection may read users."""
        unknown = {*ids} - self._users.keys()
        notes = await self.state.provider_state([f"user/{id_}" for id_ in unknown])
        self._users |= {key.removeprefix("user/"): name for key, name in notes.items()}
        for id_ in sorted(unknown - self._users.keys()):
            user = await self.fetcher.fetch(id_, None, partial(self.client.get_if_accessible, f"users/{id_}"))
            self._users[id_] = "" if user is None or isinstance(user, FailedItem) else user.get("name") or ""
            if not isinstance(user, FailedItem):
                self.tree.changed_state.append(ProviderState(f"user/{id_}", self._users[id_]))
        return self._users


def _body(title: str, properties: Iterable[tuple[str, str]], text: str, comments: Sequence[str]) -> str:
    lines = [f"**{name}**: {shown}" for name, shown in properties]
    remarks = "\n".join(["## Comments\n", *comments, ""]) if comments else ""
    return "\n\n".join(part for part in (f"# {title}", "  \n".join(lines), text, remarks) if part)
