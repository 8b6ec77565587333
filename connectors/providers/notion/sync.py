"""Sync of a Notion workspace: a complete listing, or recent changes.

Notion's search is its only list. It has a resolution of a minute and misses some pages, so a complete listing
also reads the rows of data sources, child pages, and pages known from earlier runs.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from connectors.client.concurrent_map import map_concurrently
from connectors.client.http_client import HttpClient
from connectors.errors import CursorExpiredError
from connectors.providers.common.disk_buffer import DiskBuffer, open_disk_buffer
from connectors.providers.common.item_fetcher import ItemFetcher
from connectors.providers.notion.client import PAGE_SIZE, NotionClient
from connectors.providers.notion.content import object_title
from connectors.providers.notion.page_reader import FILES_PREFIX, PageReader, ReadPage
from connectors.providers.notion.page_tree import PageTree
from connectors.sync_messages import Checkpoint, FailedItem, ProviderState, RemovedItem, SyncMessage, SyncState

INDEXING_DELAY: Final = timedelta(minutes=10)
"""Delay with which a change may appear in search."""
SETTLE_TIME: Final = timedelta(minutes=2)
"""Age below which a page may be edited again within the same minute without a new time."""
_CONCURRENCY: Final = 4
_SOURCES_PREFIX: Final = "data_sources/"
"""Prefix of the ids under which data sources fail whose rows can't be listed."""
_DATABASES_PREFIX: Final = "databases/"


class NotionSync:
    """Run of one connector, limited to the selected pages and data sources unless the selection is empty."""

    def __init__(self, client: NotionClient, http: HttpClient, state: SyncState, selected_ids: Sequence[str]) -> None:
        self._client = client
        self._state = state
        self._selected_ids = frozenset(selected_ids)
        self._changed_state: list[ProviderState] = []
        self._tree = PageTree(client, state, self._changed_state)
        self._fetcher = ItemFetcher("Notion", lambda: client.query_page("search", {"page_size": 1}))
        self._reader = PageReader(client, http, state, self._tree, self._fetcher)
        self._collected_pages: set[str] = set()
        self._queried: set[str] = set()
        """Databases and data sources whose rows were listed."""
        self._possible_sources: set[str] = set()
        """Ids in answers that do not tell a page from a data source."""
        self._selected_pages: set[str] = set()
        self._fetched_pages: set[str] = set()
        self._children: list[str] = []
        self._databases: list[str] = []
        self._now: datetime | None = None
        self._latest_edit = ""

    async def sync_all(self) -> AsyncIterator[SyncMessage]:
        with open_disk_buffer() as pages:
            async for step in self._collect_pages(pages):
                yield step
            for note in self._drain_changed_state():
                yield note
            for batch in pages.pages(PAGE_SIZE):
                async for step in self._sync_batch(batch):
                    yield step
                async for step in self._add_linked(pages):
                    yield step
                yield Checkpoint({"full": True})
        await self._confirm_unchanged_files()
        yield Checkpoint({"since": self._latest_edit})

    async def sync_changed(self, since: str) -> AsyncIterator[SyncMessage]:
        """Sync pages changed or trashed since a time, newest first, and those that failed."""
        async for step in self._retry_failed():
            yield step
        border = datetime.fromisoformat(since) - INDEXING_DELAY if since else None
        self._latest_edit = since
        async for listing in self._client.search_newest_first():
            self._now = self._now or listing.answered_at
            fresh = [entry for entry in listing.results if _is_after(entry, border)]
            self._latest_edit = _latest_edit(self._latest_edit, fresh)
            moved = await self._tree.add(entry for entry in fresh if entry.get("parent"))
            if moved and self._selected_ids:
                raise CursorExpiredError
            async for step in self._sync_batch([entry for entry in fresh if _is_page(entry)]):
                yield step
            if len(fresh) < len(listing.results):
                break
        async for id_ in self._find_trashed(border):
            yield RemovedItem(id_)
        yield Checkpoint({"since": self._latest_edit})

    async def _retry_failed(self) -> AsyncIterator[SyncMessage]:
        """Read the pages again that failed or have failed files, and list failed data sources."""
        failed = await self._state.retryable_failures()
        sources = [id_ for id_ in failed if id_.startswith((_SOURCES_PREFIX, _DATABASES_PREFIX))]
        pages = dict.fromkeys(id_.partition("/files/")[0] for id_ in failed if id_ not in sources)
        async for id_, found in map_concurrently(pages, self._get_page, _CONCURRENCY):
            if isinstance(found, FailedItem):
                yield found
            elif found is None:
                yield RemovedItem(id_)
            else:
                async for step in self._sync_batch([found], again=id_ not in failed):
                    yield step
        if sources:
            async for step in self._retry_sources(sources):
                yield step

    async def _retry_sources(self, sources: Sequence[str]) -> AsyncIterator[SyncMessage]:
        with open_disk_buffer() as rows:
            self._possible_sources |= {source.removeprefix(_SOURCES_PREFIX) for source in sources}
            for source in sources:
                async for step in self._add_rows(rows, source):
                    yield step
                if source in self._queried:
                    yield RemovedItem(source)
            for batch in rows.pages(PAGE_SIZE):
                async for step in self._sync_batch(batch):
                    yield step

    async def _find_trashed(self, since: datetime | None) -> AsyncIterator[str]:
        """Yield ids of items in the trash, including those on pages below trashed ones."""
        async for listing in self._client.search_newest_first(property="object", value="page", in_trash=True):
            fresh = [entry for entry in listing.results if _is_after(entry, since)]
            for page in fresh:
                if [id_ async for id_, _ in self._state.item_versions(page["id"])]:
                    for inner in await self._tree.descendants(page["id"]):
                        for id_ in [id_ async for id_, _ in self._state.item_versions(inner)]:
                            yield id_
            if len(fresh) < len(listing.results):
                return

    async def _collect_pages(self, pages: DiskBuffer) -> AsyncIterator[SyncMessage]:
        """Collect every page once: from search, from rows of data sources, and from earlier runs."""
        sources: list[str] = []
        async for listing in self._client.search_newest_first():
            self._now = self._now or listing.answered_at
            sources += [entry["id"] for entry in listing.results if entry.get("object") in {"data_source", None}]
            self._possible_sources |= {entry["id"] for entry in listing.results if entry.get("object") is None}
            await self._add_objects(pages, listing.results)
        for source in sources:
            async for step in self._add_rows(pages, _SOURCES_PREFIX + source):
                yield step
        known_ids = [id_ async for id_, _ in self._state.item_versions() if "/" not in id_]
        async for step in self._add_pages(pages, known_ids, known=True):
            yield step

    async def _add_objects(self, pages: DiskBuffer, objects: Sequence[dict[str, Any]]) -> None:
        await self._tree.add(entry for entry in objects if entry.get("parent"))
        self._latest_edit = _latest_edit(self._latest_edit, objects)
        fresh = [entry for entry in objects if _is_page(entry) and entry["id"] not in self._collected_pages]
        self._collected_pages |= {page["id"] for page in fresh}
        pages.add((page["id"], page) for page in fresh)

    async def _add_linked(self, pages: DiskBuffer) -> AsyncIterator[SyncMessage]:
        """Add child pages and rows of databases that appear only in the text of a page."""
        children, databases = dict.fromkeys(self._children), dict.fromkeys(self._databases)
        self._children.clear()
        self._databases.clear()
        async for step in self._add_pages(pages, [*children], known=False):
            yield step
        for database in databases:
            async for step in self._add_rows(pages, _DATABASES_PREFIX + database):
                yield step

    async def _add_pages(self, pages: DiskBuffer, ids: Sequence[str], *, known: bool) -> AsyncIterator[SyncMessage]:
        """Add pages by id; a page that is synced and can't be read now fails, with its files kept."""
        missing = [id_ for id_ in ids if id_ not in self._collected_pages]
        async for id_, found in map_concurrently(missing, self._get_page, _CONCURRENCY):
            if isinstance(found, FailedItem):
                self._selected_pages.add(id_)
                if known or found.code != "http_400":  # a link to a page may lead to something else
                    yield found
            elif found is not None:
                await self._add_objects(pages, [found])

    async def _add_rows(self, pages: DiskBuffer, place: str) -> AsyncIterator[SyncMessage]:
        """Add the rows of a data source, or of all those of a database; a source that can't be listed fails."""
        if place in self._queried:
            return
        failure = await self._fetcher.fetch(place, None, lambda: self._add_rows_of(pages, place))
        if isinstance(failure, FailedItem):
            title = await self._tree.known_title(place.partition("/")[2])
            yield replace(failure, title=title or "Database")
        else:
            self._queried.add(place)

    async def _add_rows_of(self, pages: DiskBuffer, place: str) -> None:
        kind, _, id_ = place.partition("/")
        sources = [id_]
        if kind == "databases":
            database = await self._client.get_unless_missing(place)
            sources = [source["id"] for source in (database or {}).get("data_sources") or ()]
        elif id_ in self._possible_sources and await self._client.get_if_accessible(f"pages/{id_}") is not None:
            sources = []
        for source in sources:
            if _SOURCES_PREFIX + source not in self._queried:
                async for listing in self._client.data_source_rows(source):
                    await self._add_objects(pages, [row for row in listing.results if not row.get("in_trash")])
                self._queried.add(_SOURCES_PREFIX + source)

    async def _get_page(self, id_: str) -> tuple[str, dict[str, Any] | FailedItem | None]:
        """Fetch a page; None if it is trashed or no longer shared."""
        found = await self._fetcher.fetch(id_, None, lambda: self._client.get_unless_missing(f"pages/{id_}"))
        if isinstance(found, FailedItem):
            return id_, found
        return id_, None if found is None or found.get("in_trash") else found

    async def _sync_batch(self, pages: Sequence[dict[str, Any]], *, again: bool = False) -> AsyncIterator[SyncMessage]:
        """Fetch the changed pages of a batch, or all of it `again`."""
        selected: list[tuple[dict[str, Any], str]] = []
        for page in pages:
            step = await self._fetcher.fetch(page["id"], object_title(page), partial(self._located, page))
            if isinstance(step, FailedItem):
                self._selected_pages.add(step.id)
                yield step
            elif step is not None:
                selected.append(step)
        self._selected_pages |= {page["id"] for page, _ in selected}
        changed_ids = await self._state.select_changed([(page["id"], version) for page, version in selected])
        chosen = [each for each in selected if again or each[0]["id"] in changed_ids]
        had_files = set(await self._state.provider_state([FILES_PREFIX + page["id"] for page, _ in chosen]))
        async for page, read in map_concurrently(chosen, self._read_page, _CONCURRENCY):
            async for message in self._page_messages(page, read, had_files=FILES_PREFIX + page["id"] in had_files):
                yield message
        for note in self._drain_changed_state():
            yield note

    async def _located(self, page: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
        """Return a selected page with its properties and its version, None for others."""
        if page.get("properties") is None:
            found = await self._client.get_unless_missing(f"pages/{page['id']}")
            if found is None:
                return None
            page = {**page, **found, "properties": found["properties"]}
        if not self._selected_ids or not self._selected_ids.isdisjoint(await self._tree.ancestors(page["id"])):
            return page, self._version(page)
        return None

    def _version(self, page: Mapping[str, Any]) -> str:
        """Return a version; a recently edited page gets a provisional one, so that it is read once more."""
        edited = str(page["last_edited_time"])
        unsettled = datetime.fromisoformat(edited) > self._now - SETTLE_TIME if self._now is not None else False
        return f"{edited} unsettled" if unsettled else edited

    async def _read_page(
        self, selected: tuple[dict[str, Any], str]
    ) -> tuple[dict[str, Any], ReadPage | RemovedItem | FailedItem]:
        page, version = selected
        read = await self._fetcher.fetch(page["id"], object_title(page), lambda: self._reader.read(page, version))
        return page, read

    async def _page_messages(
        self, page: Mapping[str, Any], read: ReadPage | RemovedItem | FailedItem, *, had_files: bool
    ) -> AsyncIterator[SyncMessage]:
        if not isinstance(read, ReadPage):
            yield read
            return
        self._fetched_pages.add(page["id"])
        self._children += read.children
        self._databases += read.databases
        yield read.item
        if read.left_out:
            yield FailedItem(
                read.item.id, f"Only the beginning was read. {read.left_out}", read.item.title, "truncated"
            )
        async for step in self._reader.sync_files(page, read.files, had_files=had_files):
            yield step

    def _drain_changed_state(self) -> list[ProviderState]:
        changed = [*self._changed_state]
        self._changed_state.clear()
        return changed

    async def _confirm_unchanged_files(self) -> None:
        kept: list[tuple[str, str]] = []
        async for id_, version in self._state.item_versions():
            page, slash, _ = id_.partition("/files/")
            if slash and page in self._selected_pages and page not in self._fetched_pages:
                kept.append((id_, version))
        await self._state.select_changed(kept)


def _is_page(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry is a page, or does not say what it is."""
    return entry.get("object") not in {"data_source", "database"}


def _latest_edit(so_far: str, objects: Sequence[Mapping[str, Any]]) -> str:
    return max([so_far, *(str(entry.get("last_edited_time") or "") for entry in objects)])


def _is_after(found: Mapping[str, Any], since: datetime | None) -> bool:
    """Return whether an object changed after a time; true if it has no time."""
    edited = found.get("last_edited_time")
    return since is None or not edited or datetime.fromisoformat(edited) >= since
