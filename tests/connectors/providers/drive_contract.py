"""What drives have in common: a world with a selected folder, and how its folders are kept in step."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from connectors.client.http_client import HttpClients
from connectors.provider_interface import Connection, Provider, SelectionKind
from tests.support.connectors.in_memory_sync import InMemorySync, VirtualSleep, connect
from tests.support.fakes import FixedClock
from tests.support.providers.authorization_server import AuthorizationServerDouble


class DriveDouble(Protocol):
    """A double of a drive."""

    root: str
    accounts: AuthorizationServerDouble

    def drain_operation_ids(self) -> list[str]: ...
    def write(self, id_: str, content: bytes) -> None: ...
    def delete(self, id_: str) -> None: ...
    def change(self, id_: str, **changes: Any) -> None: ...


@dataclass
class DriveHarness:
    """A drive, its connector, and what the connector's runs lead to."""

    clock: FixedClock
    in_memory_sync: InMemorySync = field(default_factory=InMemorySync)
    virtual_sleep: VirtualSleep = field(default_factory=VirtualSleep)
    folder: str = field(init=False)
    clients: HttpClients = field(init=False)

    @property
    @abstractmethod
    def double(self) -> DriveDouble: ...

    @property
    @abstractmethod
    def connector(self) -> Provider: ...

    @abstractmethod
    def create_folder(self, name: str, parent: str) -> str:
        """A new folder."""

    @abstractmethod
    def put(self, name: str, parent: str | None = None, content: bytes = b"text") -> str:
        """A new text, in the selected folder or another."""

    @abstractmethod
    def move(self, id_: str, parent: str) -> None:
        """Into another folder."""

    def connect(
        self, *, full: bool = False, folders: Sequence[str] | None = None, files: Sequence[str] = ()
    ) -> Connection:
        """With the selected folder, unless something else is."""
        chosen = [self.folder] if folders is None and not files else folders or []
        selection: dict[SelectionKind, Sequence[str]] = {} if full else {"folders": chosen, "files": files}
        return connect(
            self.connector,
            self.clients,
            self.double.accounts,
            config={"syncScope": "full"} if full else {},
            virtual_sleep=self.virtual_sleep,
            selection=selection,
        )

    async def sync(
        self, *, full: bool = False, folders: Sequence[str] | None = None, files: Sequence[str] = ()
    ) -> list[str]:
        """A run; the operations that it asked for."""
        self.double.drain_operation_ids()
        await self.in_memory_sync.run(self.connector, self.connect(full=full, folders=folders, files=files))
        return self.double.drain_operation_ids()


class FolderContract:
    """Inherit, and give a fixture `world`."""

    @pytest.mark.anyio
    async def test_a_folder_is_mirrored_with_everything_below_it(self, world: DriveHarness) -> None:
        id_ = world.put("plan.txt", world.create_folder("2026", world.folder), b"Paint the lighthouse.")
        world.put("elsewhere.txt", world.double.root)
        await world.sync()
        assert world.in_memory_sync.titles() == {"plan.txt"}
        item = world.in_memory_sync.items[id_]
        assert item.file is not None
        assert item.file.data == b"Paint the lighthouse."
        assert item.metadata["path"] == "Projects/2026/plan.txt"
        assert item.metadata["author"] == "Ada"
        assert item.metadata["lastEditedBy"] == "Grace"
        assert item.date is not None

    @pytest.mark.anyio
    async def test_new_changed_and_deleted_files_follow(self, world: DriveHarness) -> None:
        kept, changed, deleted = world.put("kept"), world.put("changed"), world.put("deleted")
        await world.sync()
        world.double.write(changed, b"news")
        world.double.delete(deleted)
        new = world.put("new")
        await world.sync()
        assert world.in_memory_sync.items.keys() == {kept, changed, new}
        assert world.in_memory_sync.text(changed) == "news"

    @pytest.mark.anyio
    async def test_a_folder_that_moves_in_brings_its_files(self, world: DriveHarness) -> None:
        outer = world.create_folder("2026", world.double.root)
        id_ = world.put("plan.txt", world.create_folder("May", outer))
        await world.sync()
        assert not world.in_memory_sync.items
        world.move(outer, world.folder)
        await world.sync()
        assert world.in_memory_sync.items[id_].metadata["path"] == "Projects/2026/May/plan.txt"

    @pytest.mark.anyio
    async def test_a_folder_that_moves_out_of_the_selection_takes_its_files_along(self, world: DriveHarness) -> None:
        inner = world.create_folder("2026", world.folder)
        world.put("plan.txt", inner)
        kept = world.put("kept.txt")
        await world.sync()
        world.move(inner, world.double.root)
        await world.sync()
        assert world.in_memory_sync.items.keys() == {kept}

    @pytest.mark.anyio
    async def test_a_renamed_folder_renames_the_paths_of_its_files(self, world: DriveHarness) -> None:
        inner = world.create_folder("2026", world.folder)
        id_ = world.put("plan.txt", inner)
        await world.sync()
        world.double.change(inner, name="2027")
        await world.sync()
        assert world.in_memory_sync.items[id_].metadata["path"] == "Projects/2027/plan.txt"

    @pytest.mark.anyio
    async def test_single_files_are_selected_by_themselves(self, world: DriveHarness) -> None:
        id_, other = world.put("plan.txt"), world.put("other.txt")
        await world.sync(files=[id_])
        assert world.in_memory_sync.items.keys() == {id_}
        world.double.write(other, b"news")
        world.double.write(id_, b"news")
        await world.sync(files=[id_])
        assert world.in_memory_sync.items.keys() == {id_}
        assert world.in_memory_sync.text(id_) == "news"
