"""Sync of OneDrive; complete listing and incremental sync read the same feed from different positions."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from functools import partial

from connectors.client.json_answers import PageTrail
from connectors.errors import CursorExpiredError, ItemError, ProviderUnavailableError
from connectors.providers.common.file_metadata import file_metadata, file_refusal, version_hash
from connectors.providers.common.folder_sync import MISSING_FOLDER_MESSAGE, FolderTreeSync
from connectors.providers.common.folder_tree import Folder, Shortcut
from connectors.providers.onedrive.client import DriveItem, GraphClient, ItemPage, is_outside_own_drive
from connectors.providers.onedrive.shared_folders import SharedFolders, child_pages
from connectors.sync_messages import (
    Checkpoint,
    Cursor,
    FailedItem,
    ItemFile,
    ProviderState,
    RemovedItem,
    SourceItem,
    SyncMessage,
)

_DELETED_PREFIX = "deleted/"
"""Prefix of state keys of deleted folders. They are removed after the feed's last page, as Microsoft
advises, because items moved out of them may follow later."""


@dataclass(slots=True, kw_only=True)
class OneDriveSync(FolderTreeSync[DriveItem]):
    """Run of one connector; its tree holds every folder of the drive, selected or not."""

    provider = "OneDrive"
    client: GraphClient
    waiting_for_folder: dict[str, DriveItem] = field(default_factory=dict)
    """Files whose folder has not yet occurred in the feed."""
    delta_link: str | None = None
    deleted_folders_loaded: bool = False
    deleted_folders: set[str] = field(default_factory=set)
    """Folders that the feed reported as deleted and did not list again."""

    def refusal_of(self, file: DriveItem) -> ItemError | None:
        return file.refusal or file_refusal(file.name, file.media_type, file.size)

    async def probe(self) -> object:
        """Fetch the account's user."""
        return await self.client.user()

    def version_of(self, file: DriveItem) -> str:
        """Hash content, name and path."""
        return version_hash(file.content_tag, file.name, file.parent, self._folder_path(file))

    async def fetch_item(self, file: DriveItem) -> SourceItem | FailedItem | RemovedItem:
        response = await self.client.download(file)
        return SourceItem(
            id=file.id,
            version=self.version_of(file),
            title=file.name,
            file=ItemFile(response.content, file.name, file.media_type),
            url=file.url,
            metadata=file_metadata(file, "file", self._folder_path(file)),
            date=file.date,
        )

    def _folder_path(self, file: DriveItem) -> str:
        return self.tree.path(file.parent) if file.folder_path is None else file.folder_path

    async def run(self, cursor: Cursor | None) -> AsyncIterator[SyncMessage]:
        """Read the feed from the cursor, or from its start without one."""
        async for step in self._start_full_sync() if cursor is None else self._retry_failed():
            yield step
        async for step in self._sync_feed(cursor):
            yield step
        shared = False
        await self.load_tree()
        shared_folders = SharedFolders(self.client, self.fetcher, self.state, self.sync_files)
        async for step in shared_folders.sync(self._shared_targets()):
            shared = True
            yield step
        if shared:
            yield self._checkpoint(str(self.delta_link))

    def _shared_targets(self) -> dict[str, str]:
        """Return the selected items outside the account's own drive, with the path of what links to them."""
        selected = {id_: "" for id_ in (*self.selection.folders, *self.selection.files) if is_outside_own_drive(id_)}
        scope = self.tree.selected_folders()
        linked = {
            shortcut.target: self.tree.path(shortcut.parent)
            for shortcut in self.tree.shortcuts.values()
            if shortcut.parent in scope
        }
        return linked | selected

    async def _sync_feed(self, cursor: Cursor | None) -> AsyncIterator[SyncMessage]:
        link = None if cursor is None else str(cursor["link"])
        resuming = cursor is None or bool(cursor.get("resuming"))
        full_sync = cursor is None or bool(cursor.get("full_sync"))
        async for step in self._sync_pages(link, resuming=resuming, full_sync=full_sync):
            yield step
        if link is not None and resuming:
            # A resumed listing is as old as the killed run: read the changes since then as well.
            async for step in self._sync_pages(self.delta_link, resuming=False, full_sync=False):
                yield step

    async def _sync_pages(self, link: str | None, *, resuming: bool, full_sync: bool) -> AsyncIterator[SyncMessage]:
        trail = PageTrail("OneDrive", CursorExpiredError)
        while True:
            page = await self.client.delta_page(link)
            if page.items or resuming:
                async for step in self._apply_page(page, full_sync=full_sync):
                    yield step
            resuming = True
            link = trail.follow(page.next_link) or page.delta_link
            if link is None:
                raise ProviderUnavailableError(
                    "OneDrive sent a page of changes without a link to the next one. The next run tries again."
                )
            if page.next_link is None:
                self.delta_link = link
                break
            # Files waiting for their folder are in memory only, so a killed run has to read them again.
            if not self.waiting_for_folder:
                yield self._checkpoint(link, resuming=True, full_sync=full_sync)
        for root in self.selection.folders if full_sync else ():
            if root not in self.tree.folders and not is_outside_own_drive(root):
                yield FailedItem(root, MISSING_FOLDER_MESSAGE, code="not_found")
        yield self._checkpoint(link)

    def _checkpoint(self, link: str, **place: bool) -> Checkpoint:
        return Checkpoint({"link": link, **place})

    async def _start_full_sync(self) -> AsyncIterator[SyncMessage]:
        """Drop the folders of an earlier listing; this one lists all of them."""
        await self.load_tree()
        self.tree.folders.clear()
        self.tree.shortcuts.clear()
        for note in self.changed_state():
            yield note
        async for key, _ in self.state.scan_provider_state(_DELETED_PREFIX):
            yield ProviderState(key, None)

    async def _retry_failed(self) -> AsyncIterator[SyncMessage]:
        """Retry the failures of the last run."""
        ids = await self.state.retryable_failures()
        if ids:
            await self._load_state()
        files: list[DriveItem] = []
        for id_ in ids:
            if is_outside_own_drive(id_):
                continue  # its folder is listed in every run
            item = await self.fetcher.fetch(id_, None, partial(self.client.item, id_))
            if isinstance(item, FailedItem):
                yield item
            elif item is None:
                yield RemovedItem(id_)
            elif self._is_selected(item, self.tree.selected_folders()) or self._is_without_folder(item):
                files.append(item)
            else:
                yield _placeless_failure(item) or RemovedItem(id_)
        async for step in self.sync_files(files):
            yield step

    async def _apply_page(self, page: ItemPage, *, full_sync: bool) -> AsyncIterator[SyncMessage]:
        await self._load_state()
        before = self.tree.selected_folders()
        paths = {folder: self.tree.path(folder) for folder in before}
        for note in self._update_folders(page):
            yield note
        scope = self.tree.selected_folders()
        async for step in self.remove_deselected(before - scope, set(), set(self.selection.files)):
            yield step
        moved = {folder for folder in scope & before if paths[folder] != self.tree.path(folder)}
        async for step in self._sync_page_files(page, scope):
            yield step
        # A complete listing contains every file; a change feed omits the files of folders that moved.
        entered = set[str]() if full_sync else scope - before
        async for step in self._sync_moved_folders(moved | entered, page.items):
            yield step
        # Saved last, so that a killed run detects entered and left folders again.
        for note in self.changed_state():
            yield note

    async def _load_state(self) -> None:
        if not self.deleted_folders_loaded:
            self.deleted_folders_loaded = True
            await self.load_tree()
            self.deleted_folders = {
                key.removeprefix(_DELETED_PREFIX) async for key, _ in self.state.scan_provider_state(_DELETED_PREFIX)
            }

    def _update_folders(self, page: ItemPage) -> list[ProviderState]:
        """Update the tree; deleted folders are removed only after the last page."""
        before = set(self.deleted_folders)
        for item in page.items:
            if item.target is None or item.is_deleted:
                self.tree.shortcuts.pop(item.id, None)
            else:
                self.tree.shortcuts[item.id] = Shortcut(item.parent or "", item.target, is_folder=False)
            if item.is_deleted:
                self.deleted_folders |= {item.id} & self.tree.folders.keys()
            elif item.is_folder or item.is_root:
                self.deleted_folders.discard(item.id)
                name, parent = ("", None) if item.is_root else (item.name, item.parent)
                self.tree.folders[item.id] = Folder(name, parent)
        if page.next_link is None:
            for folder in self.tree.descendants(self.deleted_folders):
                del self.tree.folders[folder]
            self.deleted_folders = set()
        return [
            ProviderState(f"{_DELETED_PREFIX}{id_}", "" if id_ in self.deleted_folders else None)
            for id_ in sorted(before ^ self.deleted_folders)
        ]

    async def _sync_page_files(self, page: ItemPage, selected_folders: set[str]) -> AsyncIterator[SyncMessage]:
        held: list[DriveItem] = []
        waiting = self.waiting_for_folder | {item.id: item for item in page.items}
        self.waiting_for_folder = {}
        for item in waiting.values():
            if item.is_folder or item.is_root or item.target is not None:
                continue
            if self._is_selected(item, selected_folders) or (page.next_link is None and self._is_without_folder(item)):
                held.append(item)
            elif not item.is_deleted and page.next_link is not None and not self._has_known_path(item):
                self.waiting_for_folder[item.id] = item
            elif (failure := _placeless_failure(item)) is not None:
                yield failure
            else:
                for step in self.removal_messages(item.id):
                    yield step
        async for step in self.sync_files(held):
            yield step

    def _is_selected(self, item: DriveItem, selected_folders: set[str]) -> bool:
        inside = item.parent in selected_folders if not self.selection.everything else self._has_known_path(item)
        return not (item.is_deleted or item.is_folder or item.target) and (inside or item.id in self.selection.files)

    def _is_without_folder(self, item: DriveItem) -> bool:
        """Return whether everything is selected and no page of the feed contains the file's folder."""
        known = item.is_deleted or item.is_folder or item.target is not None or self._has_known_path(item)
        return self.selection.everything and not known

    def _has_known_path(self, item: DriveItem) -> bool:
        folder, seen = item.parent, set[str]()
        while folder is not None and folder not in seen and folder in self.tree.folders:
            seen.add(folder)
            folder = self.tree.folders[folder].parent
        return folder is None and item.parent is not None

    async def _sync_moved_folders(
        self, folders: set[str], page_items: Iterable[DriveItem]
    ) -> AsyncIterator[SyncMessage]:
        """Sync the files of moved folders, which the feed does not list."""
        known_ids = {item.id for item in page_items}
        waiting = sorted(folders)
        while waiting:
            folder = waiting.pop()
            async for page in child_pages(self.client, self.fetcher, folder, self.tree.path(folder)):
                if isinstance(page, FailedItem):
                    yield page
                    break
                for item in page.items:
                    if item.is_folder and item.id not in self.tree.folders:
                        self.tree.folders[item.id] = Folder(item.name, item.parent)
                        waiting.append(item.id)
                files = [
                    item
                    for item in page.items
                    if not item.is_folder and item.target is None and item.id not in known_ids
                ]
                async for step in self.sync_files(files):
                    yield step


def _placeless_failure(item: DriveItem) -> FailedItem | None:
    """Return the failure of a file of which nobody can say whether it is selected, None for others."""
    if item.is_deleted or item.is_folder or item.is_root or item.target is not None or item.parent is not None:
        return None
    message = "OneDrive does not say in which folder this file is. A later run asks again."
    return FailedItem(item.id, message, title=item.name, code="malformed", retryable=True)
