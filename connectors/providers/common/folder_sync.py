"""Sync of files in folders, shared by the drives: folder state, changed files, deselected files."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from connectors.client.concurrent_map import map_concurrently
from connectors.errors import ItemError
from connectors.provider_interface import Connection, PickerEntry, SelectionKind
from connectors.providers.common.file_metadata import FileOrFolder
from connectors.providers.common.folder_tree import Folder, FolderTree, Shortcut
from connectors.providers.common.item_fetcher import ItemFetcher, without_item_errors
from connectors.sync_messages import (
    Checkpoint,
    FailedItem,
    ProviderState,
    RemovedItem,
    SourceItem,
    SyncMessage,
    SyncState,
)

BATCH_SIZE = 200
CONCURRENCY = 8


FileT = TypeVar("FileT", bound=FileOrFolder)


@dataclass(frozen=True, slots=True)
class FolderSelection:
    """Selection of a drive: everything, or folders and single files."""

    everything: bool
    folders: tuple[str, ...]
    files: tuple[str, ...]

    @classmethod
    def of_connection(cls, connection: Connection) -> "FolderSelection":
        """Read a connector's selection; it is empty until a user selected something."""
        everything = connection.config.get("syncScope") == "full"
        return cls(everything, connection.selected_ids("folders"), connection.selected_ids("files"))


@dataclass(slots=True)
class FolderTreeSync(ABC, Generic[FileT]):
    """Base of drive syncs: folders and shortcuts are held in memory, of files only their folder on disk."""

    provider: ClassVar[str]
    """Name of the provider in messages."""
    selection: FolderSelection
    state: SyncState
    tree: FolderTree = field(init=False)
    drive_ids: dict[str, str] = field(default_factory=dict)
    """Drive by folder id, for folders outside the account's own drive."""
    stored_state: dict[str, str] = field(default_factory=dict)
    loaded: bool = False
    fetcher: ItemFetcher = field(init=False)

    def __post_init__(self) -> None:
        self.tree = FolderTree(None if self.selection.everything else frozenset(self.selection.folders))
        self.fetcher = ItemFetcher(self.provider, self.probe)

    @abstractmethod
    async def probe(self) -> object:
        """Send a cheap request that answers whenever the provider works."""

    @abstractmethod
    def refusal_of(self, file: FileT) -> ItemError | None:
        """Return why a file can't be fetched according to its description, None if it can."""

    @abstractmethod
    def version_of(self, file: FileT) -> str:
        """Return a version that changes with content, name and folder."""

    @abstractmethod
    async def fetch_item(self, file: FileT) -> SourceItem | FailedItem | RemovedItem:
        """Fetch a file's content as an item."""

    async def sync_files(
        self, files: Sequence[FileT], checkpoint: Checkpoint | None = None
    ) -> AsyncIterator[SyncMessage]:
        """Fetch the new and changed files, and record the folder of each file."""
        for at in range(0, len(files), BATCH_SIZE):
            readable: list[FileT] = []
            for file in files[at : at + BATCH_SIZE]:
                if (refusal := self.refusal_of(file)) is not None:
                    yield FailedItem.of_error(file.id, file.name, refusal)
                else:
                    readable.append(file)
            async for step in self._record_parents(readable):
                yield step
            changed_ids = await self.state.select_changed([(file.id, self.version_of(file)) for file in readable])
            async for step in map_concurrently(
                (f for f in readable if f.id in changed_ids), self._fetch_or_fail, CONCURRENCY
            ):
                yield step
            if checkpoint is not None and at + BATCH_SIZE < len(files):
                yield checkpoint

    async def remove_deselected(
        self, folders: set[str], targets: set[str], individually_selected: set[str]
    ) -> AsyncIterator[SyncMessage]:
        """Remove files whose folder or shortcut is no longer selected, which no change feed lists."""
        if not folders and not targets:
            return
        scope = self.tree.selected_folders()
        async for key, parent in self.state.scan_provider_state(file_state_key("")):
            id_ = key.removeprefix(file_state_key(""))
            if (parent in folders or id_ in targets) and parent not in scope and id_ not in individually_selected:
                yield RemovedItem(id_)
                yield ProviderState(key, None)

    def removal_messages(self, id_: str) -> tuple[SyncMessage, ...]:
        return RemovedItem(id_), ProviderState(file_state_key(id_), None)

    async def load_tree(self) -> None:
        """Load folders and shortcuts as of the previous run, once."""
        if self.loaded:
            return
        self.loaded = True
        async for key, value in self.state.scan_provider_state("tree/"):
            self.stored_state[key] = value
            _, kind, id_ = key.split("/", 2)
            fields = json.loads(value)
            if kind == "folder":
                name, parent, drive_id = fields
                self.tree.folders[id_] = Folder(name, parent)
                self.drive_ids |= {id_: drive_id} if drive_id else {}
            else:
                self.tree.shortcuts[id_] = Shortcut(*fields)

    def changed_state(self) -> list[ProviderState]:
        """Return the differences between the tree and its stored state, and mark them as stored."""
        now = {
            f"tree/folder/{id_}": json.dumps([folder.name, folder.parent, self.drive_ids.get(id_, "")])
            for id_, folder in self.tree.folders.items()
        } | {
            f"tree/shortcut/{id_}": json.dumps([shortcut.parent, shortcut.target, shortcut.is_folder])
            for id_, shortcut in self.tree.shortcuts.items()
        }
        notes = [ProviderState(key, value) for key, value in now.items() if self.stored_state.get(key) != value]
        notes += [ProviderState(key, None) for key in self.stored_state.keys() - now.keys()]
        self.stored_state = now
        return notes

    async def _record_parents(self, files: Sequence[FileT]) -> AsyncIterator[SyncMessage]:
        notes = await self.state.provider_state([file_state_key(file.id) for file in files])
        for file in files:
            if notes.get(file_state_key(file.id)) != (file.parent or ""):
                yield ProviderState(file_state_key(file.id), file.parent or "")

    async def _fetch_or_fail(self, file: FileT) -> SourceItem | FailedItem | RemovedItem:
        return await self.fetcher.fetch(file.id, file.name, lambda: self.fetch_item(file))


def picker_entry(file: FileOrFolder) -> PickerEntry:
    """Return a file as the picker shows it, with its date, or a folder, which opens."""
    if file.is_folder:
        return PickerEntry(file.id, file.name, "folders", expandable=True)
    return PickerEntry(file.id, file.name, "files", detail=(file.modified or "")[:10])


async def names_of_selected(
    fetch: Callable[[str], Awaitable[FileT | None]], kind: SelectionKind, ids: Sequence[str]
) -> dict[str, str]:
    """Return the names of files or folders by id; those that are missing or can't be read are left out."""
    found = [file async for file in map_concurrently(ids, without_item_errors(fetch), CONCURRENCY)]
    return {file.id: file.name for file in found if file and file.is_folder == (kind == "folders")}


MISSING_FOLDER_MESSAGE = "The selected folder is gone or is not shared with this account any more. Choose again."


def file_state_key(id_: str) -> str:
    """Return the state key under which a file's folder is stored."""
    return f"file/{id_}"
