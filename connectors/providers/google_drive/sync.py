"""Sync of Google Drive: a complete listing, folders first, or the changes that affect the selection."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from connectors.client.concurrent_map import map_concurrently
from connectors.client.json_answers import PageTrail
from connectors.errors import CursorExpiredError, ItemError
from connectors.providers.common.folder_sync import BATCH_SIZE, CONCURRENCY, MISSING_FOLDER_MESSAGE, FolderTreeSync
from connectors.providers.common.folder_tree import Folder
from connectors.providers.google_drive.client import FOLDER, MY_DRIVE, SHORTCUT, DriveClient, DriveFile, FileChange
from connectors.providers.google_drive.content import fetch_item, file_version, refusal_of
from connectors.sync_messages import (
    Checkpoint,
    Cursor,
    FailedItem,
    RemovedItem,
    SourceItem,
    SyncMessage,
    UnlistablePrefix,
)

_FOLDERS_PER_QUERY = 50
"""Folders per query; more would exceed the URL length limit."""
_FILES_QUERY = f"mimeType != '{FOLDER}' and mimeType != '{SHORTCUT}' and trashed = false"
_FOLDERS_QUERY = f"(mimeType = '{FOLDER}' or mimeType = '{SHORTCUT}') and trashed = false"


@dataclass(slots=True, kw_only=True)
class DriveSync(FolderTreeSync[DriveFile]):
    provider = "Google Drive"
    client: DriveClient
    page_tokens: dict[str, str] = field(default_factory=dict)
    latest_drive_ids: dict[str, str] = field(default_factory=dict)
    """Drive by file changed in this run: a file removed from one drive may have moved to another."""
    _unreadable_targets: list[FailedItem] = field(default_factory=list)
    """Targets of shortcuts that can't be read, to be reported."""

    def refusal_of(self, file: DriveFile) -> ItemError | None:
        return refusal_of(file)

    async def probe(self) -> object:
        return await self.client.file("root")

    def version_of(self, file: DriveFile) -> str:
        """Hash content, name and path."""
        return file_version(file, self.tree.path(file.parent))

    async def fetch_item(self, file: DriveFile) -> SourceItem | FailedItem | RemovedItem:
        return await fetch_item(self.client, file, self.tree.path(file.parent))

    async def run(self, cursor: Cursor | None) -> AsyncIterator[SyncMessage]:
        """Run as `_run`, and report the targets of shortcuts that can't be read before the next checkpoint."""
        async for step in self._run(cursor):
            while self._unreadable_targets:
                yield self._unreadable_targets.pop()
            yield step

    async def _run(self, cursor: Cursor | None) -> AsyncIterator[SyncMessage]:
        """Run or resume a complete listing, or sync the changes since the cursor."""
        run = (
            self._incremental_sync(cursor) if cursor is not None and "batch" not in cursor else self._full_sync(cursor)
        )
        async for step in run:
            yield step

    # Complete listing.

    async def _full_sync(self, cursor: Cursor | None) -> AsyncIterator[SyncMessage]:
        await self.load_tree()
        page: Any = None
        begun = 0
        if cursor is None:
            async for step in self._discover_folders():
                yield step
            yield self._checkpoint(batch=0)
        else:
            self.page_tokens, begun, page = (
                _parse_page_tokens(cursor),
                _int_or_zero(cursor["batch"]),
                cursor.get("page"),
            )
        batches = self._file_queries()
        for number, (home, query) in enumerate(batches[begun:], begun):
            trail = PageTrail("Google Drive", CursorExpiredError)
            while True:
                files, following = await self.client.files(query, drive_id=home, page_token=page)
                if not self.client.searched_everything:
                    self.client.searched_everything = True
                    yield UnlistablePrefix("")  # what is not listed may still be there
                async for step in self.sync_files(files, self._checkpoint(batch=number, page=page)):
                    yield step
                page = trail.follow(following)
                if page is None:
                    break
                yield self._checkpoint(batch=number, page=page)
            yield self._checkpoint(batch=number + 1)
        async for step in self._sync_individual_files(self._individual_file_ids()):
            yield step
        yield self._checkpoint()

    async def _discover_folders(self) -> AsyncIterator[SyncMessage]:
        """Discover all folders first, as paths need their names and files are listed for many folders at once."""
        self.tree.folders.clear()
        self.tree.shortcuts.clear()
        await self._record_start_token(MY_DRIVE)
        if self.selection.everything:
            for drive, _ in await self.client.shared_drives():
                await self._record_start_token(drive)
            for home in self.page_tokens:
                self._add_folders(await self.client.all_files(_FOLDERS_QUERY, drive_id=home))
        for root in () if self.selection.everything else self.selection.folders:
            file = await self.fetcher.fetch(root, None, partial(self.client.file, root))
            if isinstance(file, FailedItem):
                yield file
            elif file is None or file.trashed:
                yield FailedItem(root, MISSING_FOLDER_MESSAGE, code="not_found")
            else:
                await self._record_start_token(file.drive_id)
                self._add_folders([file])
        if not self.selection.everything:
            await self._descend(self.tree.selected_folders())
        for note in self.changed_state():
            yield note

    async def _descend(self, folders: Iterable[str]) -> None:
        """Add the descendants of these folders, also behind shortcuts."""
        waiting = set(folders)
        while waiting:
            before = self.tree.selected_folders()
            for home, query in self._queries(waiting, _FOLDERS_QUERY):
                self._add_folders(await self.client.all_files(query, drive_id=home))
            await self._follow_shortcuts()
            waiting = self.tree.selected_folders() - before

    async def _follow_shortcuts(self) -> None:
        if self.selection.everything:
            return  # everything is selected, so shortcut targets are found anyway
        scope = self.tree.selected_folders()
        for shortcut in list(self.tree.shortcuts.values()):
            if shortcut.is_folder and shortcut.parent in scope and shortcut.target not in self.tree.folders:
                target = await self.fetcher.fetch(shortcut.target, None, partial(self.client.file, shortcut.target))
                if isinstance(target, FailedItem):
                    self._unreadable_targets.append(target)
                elif target is not None and target.is_folder and not target.trashed:
                    await self._record_start_token(target.drive_id)
                    self._add_folders([target])

    def _file_queries(self) -> list[tuple[str, str]]:
        if self.selection.everything:
            return [(home, _FILES_QUERY) for home in self.page_tokens]
        return self._queries(self.tree.selected_folders(), _FILES_QUERY)

    def _queries(self, folders: Iterable[str], condition: str) -> list[tuple[str, str]]:
        """Return the queries for the contents of these folders, in an order that is stable across resumption."""
        by_home: dict[str, list[str]] = {}
        for folder in sorted(folders):
            by_home.setdefault(self.drive_ids.get(folder, MY_DRIVE), []).append(folder)
        return [
            (home, f"{condition} and ({' or '.join(map(_in_parent, members[at : at + _FOLDERS_PER_QUERY]))})")
            for home, members in sorted(by_home.items())
            for at in range(0, len(members), _FOLDERS_PER_QUERY)
        ]

    def _individual_file_ids(self) -> list[str]:
        return sorted({*self.selection.files, *self.tree.shortcut_targets(self.tree.selected_folders())})

    async def _sync_individual_files(self, ids: Sequence[str]) -> AsyncIterator[SyncMessage]:
        for at in range(0, len(ids), BATCH_SIZE):
            files: list[DriveFile] = []
            async for id_, file in map_concurrently(ids[at : at + BATCH_SIZE], self._get_file, CONCURRENCY):
                if isinstance(file, FailedItem):
                    yield file
                elif file is None or file.trashed:
                    yield RemovedItem(id_)
                elif not file.is_folder:
                    files.append(file)
                    await self._record_start_token(file.drive_id)
            async for step in self.sync_files(files):
                yield step

    async def _get_file(self, id_: str) -> tuple[str, DriveFile | FailedItem | None]:
        return id_, await self.fetcher.fetch(id_, None, partial(self.client.file, id_))

    # Incremental sync.

    async def _incremental_sync(self, cursor: Cursor) -> AsyncIterator[SyncMessage]:
        self.page_tokens = _parse_page_tokens(cursor)
        if failed := await self.state.retryable_failures():
            await self.load_tree()
            async for step in self._sync_individual_files(failed):
                yield step
        for home in list(self.page_tokens):
            trail = PageTrail("Google Drive", CursorExpiredError)
            while True:
                page = await self.client.changes(home, self.page_tokens[home])
                if page.changes:
                    async for step in self._apply_changes(home, {change.id: change for change in page.changes}):
                        yield step
                self.page_tokens[home] = page.next_page_token
                if not page.is_last:
                    trail.follow(page.next_page_token)
                yield self._checkpoint()
                if page.is_last:
                    break

    async def _apply_changes(self, drive_id: str, changes: Mapping[str, FileChange]) -> AsyncIterator[SyncMessage]:
        """Apply a page of a drive's changes, the newest state per id."""
        if self.selection.everything and any(change.is_drive for change in changes.values()):
            raise CursorExpiredError("A shared drive was joined or left.")
        await self.load_tree()
        changes = {id_: change for id_, change in changes.items() if not self._moved_to_another_drive(drive_id, change)}
        before, targets = (self.tree.selected_folders(), self.tree.shortcut_targets(self.tree.selected_folders()))
        paths = {folder: self.tree.path(folder) for folder in before}
        self._update_tree(changes)
        await self._follow_shortcuts()
        await self._descend(self.tree.selected_folders() - before)
        scope = self.tree.selected_folders()
        self._prune(scope)
        added, left = self.tree.shortcut_targets(scope) - targets, targets - self.tree.shortcut_targets(scope)
        async for step in self.remove_deselected(before - scope, left, set(self._individual_file_ids())):
            yield step
        moved = [folder for folder in scope if paths.get(folder) != self.tree.path(folder)]
        self.latest_drive_ids |= {id_: change.file.drive_id for id_, change in changes.items() if change.file}
        held = [file for change in changes.values() if (file := self._if_selected(change.file)) is not None]
        for change in changes.keys() - {file.id for file in held}:
            for step in self.removal_messages(change):
                yield step
        async for step in self.sync_files(held):
            yield step
        for place, query in self._queries(moved, _FILES_QUERY):
            async for step in self.sync_files(await self.client.all_files(query, drive_id=place)):
                yield step
        async for step in self._sync_individual_files(sorted(added)):
            yield step
        # Saved last, so that a killed run detects entered and left folders again.
        for note in self.changed_state():
            yield note

    def _moved_to_another_drive(self, drive_id: str, change: FileChange) -> bool:
        """Return whether a file reported as removed from this drive is now in another."""
        at = self.drive_ids.get(change.id, MY_DRIVE) if change.id in self.tree.folders else drive_id
        return change.file is None and self.latest_drive_ids.get(change.id, at) != drive_id

    def _update_tree(self, changes: Mapping[str, FileChange]) -> None:
        """Update folders and shortcuts; a removed folder takes its descendants with it."""
        changed_files = [change.file for change in changes.values() if change.file and not change.file.trashed]
        self._add_folders(changed_files)
        gone = changes.keys() - {file.id for file in changed_files}
        for folder in self.tree.descendants(gone):
            del self.tree.folders[folder]
        for shortcut in gone:
            self.tree.shortcuts.pop(shortcut, None)

    def _prune(self, selected_folders: set[str]) -> None:
        """Drop unselected folders and shortcuts, whose changes are not followed."""
        self.tree.folders = {id_: folder for id_, folder in self.tree.folders.items() if id_ in selected_folders}
        self.tree.shortcuts = {
            id_: shortcut for id_, shortcut in self.tree.shortcuts.items() if shortcut.parent in selected_folders
        }

    def _if_selected(self, file: DriveFile | None) -> DriveFile | None:
        if file is None or file.trashed or file.is_folder or file.shortcut_target is not None:
            return None
        scope = self.tree.selected_folders()
        inside = self.selection.everything or file.parent in scope
        return file if inside or file.id in {*self.selection.files, *self.tree.shortcut_targets(scope)} else None

    # Both kinds of sync.

    async def _record_start_token(self, drive_id: str) -> None:
        """Record the position of a drive's feed before listing it, so that no change is missed."""
        if drive_id not in self.page_tokens:
            self.page_tokens[drive_id] = await self.client.start_page_token(drive_id)

    def _add_folders(self, files: Iterable[DriveFile]) -> None:
        for file in files:
            if file.is_folder:
                self.tree.folders[file.id] = Folder(file.name, file.parent)
                self.drive_ids[file.id] = file.drive_id
            elif (shortcut := file.shortcut) is not None:
                self.tree.shortcuts[file.id] = shortcut

    def _checkpoint(self, **place: int | str | None) -> Checkpoint:
        return Checkpoint({"tokens": dict(self.page_tokens), **place})


def _in_parent(folder: str) -> str:
    return f"'{folder}' in parents"


def _parse_page_tokens(cursor: Cursor) -> dict[str, str]:
    tokens = cursor["tokens"]
    return {str(home): str(token) for home, token in tokens.items()} if isinstance(tokens, Mapping) else {}


def _int_or_zero(value: object) -> int:
    return value if isinstance(value, int) else 0
