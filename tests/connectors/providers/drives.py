"""What drives have in common: a world with a selected folder, and how its folders are kept in step."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from connectors.http import Clients
from connectors.ports import Connection, Kind, Provider
from tests.connectors.doubles.accounts import Accounts
from tests.connectors.mirror import Mirror, Patience, connection
from tests.fakes import FixedClock


class Drive(Protocol):
    """A double of a drive."""

    root: str
    accounts: Accounts

    def counted(self) -> list[str]: ...
    def write(self, id_: str, content: bytes) -> None: ...
    def delete(self, id_: str) -> None: ...
    def change(self, id_: str, **changes: Any) -> None: ...


@dataclass
class DriveWorld:
    """A drive, its connector, and what the connector's runs lead to."""

    clock: FixedClock
    mirror: Mirror = field(default_factory=Mirror)
    patience: Patience = field(default_factory=Patience)
    folder: str = field(init=False)
    clients: Clients = field(init=False)

    @property
    @abstractmethod
    def double(self) -> Drive: ...

    @property
    @abstractmethod
    def connector(self) -> Provider: ...

    @abstractmethod
    def made(self, name: str, parent: str) -> str:
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
        selection: dict[Kind, Sequence[str]] = {} if full else {"folders": chosen, "files": files}
        return connection(
            self.connector,
            self.clients,
            self.double.accounts,
            config={"syncScope": "full"} if full else {},
            patience=self.patience,
            selection=selection,
        )

    async def sync(
        self, *, full: bool = False, folders: Sequence[str] | None = None, files: Sequence[str] = ()
    ) -> list[str]:
        """A run; the operations that it asked for."""
        self.double.counted()
        await self.mirror.run(self.connector, self.connect(full=full, folders=folders, files=files))
        return self.double.counted()


class FolderSuite:
    """Inherit, and give a fixture `world`."""

    @pytest.mark.anyio
    async def test_a_folder_is_mirrored_with_everything_below_it(self, world: DriveWorld) -> None:
        id_ = world.put("plan.txt", world.made("2026", world.folder), b"Paint the lighthouse.")
        world.put("elsewhere.txt", world.double.root)
        await world.sync()
        assert world.mirror.titles() == {"plan.txt"}
        item = world.mirror.items[id_]
        assert item.file is not None
        assert item.file.data == b"Paint the lighthouse."
        assert item.metadata["path"] == "Projects/2026/plan.txt"
        assert item.metadata["author"] == "Ada"
        assert item.metadata["lastEditedBy"] == "Grace"
        assert item.date is not None

    @pytest.mark.anyio
    async def test_new_changed_and_deleted_files_follow(self, world: DriveWorld) -> None:
        kept, changed, deleted = world.put("kept"), world.put("changed"), world.put("deleted")
        await world.sync()
        world.double.write(changed, b"news")
        world.double.delete(deleted)
        new = world.put("new")
        await world.sync()
        assert world.mirror.items.keys() == {kept, changed, new}
        assert world.mirror.text(changed) == "news"

    @pytest.mark.anyio
    async def test_a_folder_that_moves_in_brings_its_files(self, world: DriveWorld) -> None:
        outer = world.made("2026", world.double.root)
        id_ = world.put("plan.txt", world.made("May", outer))
        await world.sync()
        assert not world.mirror.items
        world.move(outer, world.folder)
        await world.sync()
        assert world.mirror.items[id_].metadata["path"] == "Projects/2026/May/plan.txt"

    @pytest.mark.anyio
    async def test_a_folder_that_moves_out_of_the_selection_takes_its_files_along(
        self, world: DriveWorld
    ) -> None:
        inner = world.made("2026", world.folder)
        world.put("plan.txt", inner)
        kept = world.put("kept.txt")
        await world.sync()
        world.move(inner, world.double.root)
        await world.sync()
        assert world.mirror.items.keys() == {kept}

    @pytest.mark.anyio
    async def test_a_renamed_folder_renames_the_paths_of_its_files(self, world: DriveWorld) -> None:
        inner = world.made("2026", world.folder)
        id_ = world.put("plan.txt", inner)
        await world.sync()
        world.double.change(inner, name="2027")
        await world.sync()
        assert world.mirror.items[id_].metadata["path"] == "Projects/2027/plan.txt"

    @pytest.mark.anyio
    async def test_single_files_are_selected_by_themselves(self, world: DriveWorld) -> None:
        id_, other = world.put("plan.txt"), world.put("other.txt")
        await world.sync(files=[id_])
        assert world.mirror.items.keys() == {id_}
        world.double.write(other, b"news")
        world.double.write(id_, b"news")
        await world.sync(files=[id_])
        assert world.mirror.items.keys() == {id_}
        assert world.mirror.text(id_) == "news"
