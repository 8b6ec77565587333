"""Folders that others share and document libraries: they have no feed here, so every run lists them."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Final

from connectors.client.json_answers import PageTrail
from connectors.providers.common.folder_sync import MISSING_FOLDER_MESSAGE
from connectors.providers.common.item_fetcher import ItemFetcher
from connectors.providers.onedrive.client import DriveItem, GraphClient, ItemPage
from connectors.sync_messages import FailedItem, ProviderState, RemovedItem, SyncMessage, SyncState

SyncFiles = Callable[[Sequence[DriveItem]], AsyncIterator[SyncMessage]]
"""Stores the files that changed."""

_STATE_PREFIX: Final = "shared/"
"""Prefix of state keys of files in shared folders; the value is the shared item that they are reached by."""


class SharedFolders:
    """Sync of the selected items outside the account's own drive."""

    def __init__(self, client: GraphClient, fetcher: ItemFetcher, state: SyncState, sync_files: SyncFiles) -> None:
        self._client = client
        self._fetcher = fetcher
        self._state = state
        self._sync_changed = sync_files
        self._listed: set[str] = set()
        self._unlistable: set[str] = set()

    async def sync(self, targets: Mapping[str, str]) -> AsyncIterator[SyncMessage]:
        """Sync these items, given with the path of what links to them, and remove files that are there no longer."""
        for target, path in sorted(targets.items()):
            async for step in self._sync_target(target, path):
                yield step
        kept: list[str] = []
        async for key, target in self._state.scan_provider_state(_STATE_PREFIX):
            id_ = key.removeprefix(_STATE_PREFIX)
            if target in self._unlistable:
                kept.append(id_)
            elif id_ not in self._listed:
                yield RemovedItem(id_)
                yield ProviderState(key, None)
        await self._keep(kept)

    async def _sync_target(self, target: str, path: str) -> AsyncIterator[SyncMessage]:
        item = await self._fetcher.fetch(target, None, partial(self._client.item, target))
        if item is None:
            item = FailedItem(target, MISSING_FOLDER_MESSAGE, code="not_found", retryable=True)
        if isinstance(item, FailedItem):
            self._unlistable.add(target)
            yield item
            return
        drive = target.rpartition(":")[0]
        if not item.is_folder and not item.is_root:
            async for step in self._sync_files(target, [item.outside_own_drive(drive, path)]):
                yield step
            return
        waiting = [(target, f"{path}/{item.name}" if path else item.name)]
        seen = {target}
        while waiting:
            folder, folder_path = waiting.pop()
            async for page in child_pages(self._client, self._fetcher, folder, folder_path):
                if isinstance(page, FailedItem):
                    self._unlistable.add(target)
                    yield page
                    break
                async for step in self._sync_files(target, _files(page, drive, folder_path)):
                    yield step
                inner = [(f"{drive}:{each.id}", f"{folder_path}/{each.name}") for each in page.items if each.is_folder]
                waiting += [each for each in inner if each[0] not in seen]
                seen |= {id_ for id_, _ in inner}

    async def _sync_files(self, target: str, files: list[DriveItem]) -> AsyncIterator[SyncMessage]:
        new = [file for file in files if file.id not in self._listed]
        self._listed |= {file.id for file in new}
        stored = await self._state.provider_state([_STATE_PREFIX + file.id for file in new])
        for file in new:
            if stored.get(_STATE_PREFIX + file.id) != target:
                yield ProviderState(_STATE_PREFIX + file.id, target)
        async for step in self._sync_changed(new):
            yield step

    async def _keep(self, ids: list[str]) -> None:
        """Count files as listed whose folder could not be listed."""
        wanted = set(ids)
        versions = [each async for each in self._state.item_versions() if each[0] in wanted] if ids else []
        await self._state.select_changed(versions)


async def child_pages(
    client: GraphClient, fetcher: ItemFetcher, folder: str, path: str
) -> AsyncIterator[ItemPage | FailedItem]:
    """Yield the pages of a folder's items, up to the failure of one."""
    link: str | None = None
    trail = PageTrail("OneDrive")
    while True:
        page = await fetcher.fetch(folder, path, partial(client.children, folder, page_link=link))
        yield page
        link = None if isinstance(page, FailedItem) else trail.follow(page.next_link)
        if link is None:
            return


def _files(page: ItemPage, drive: str, path: str) -> list[DriveItem]:
    return [item.outside_own_drive(drive, path) for item in page.items if not item.is_folder and item.target is None]
