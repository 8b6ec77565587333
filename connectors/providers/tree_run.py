"""A run over files in folders, whatever the provider: what to remember, what to fetch, what has left."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from connectors.concurrency import mapped
from connectors.errors import UnavailableError
from connectors.ports import Checkpoint, Connection, Failure, Item, Known, Note, Removed, Step
from connectors.providers.files import version
from connectors.providers.tree import Folder, Shortcut, Tree

SLICE = 200
WIDTH = 8
_IN_A_ROW = 3
"""So many files that can't be had one after the other, and it is the provider that is at fault."""


class Placed(Protocol):
    """A file in a folder."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> str | None: ...


F = TypeVar("F", bound=Placed)


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be synchronised: everything, or folders and single files."""

    everything: bool
    folders: tuple[str, ...]
    files: tuple[str, ...]

    @classmethod
    def of(cls, connection: Connection) -> "Selection":
        """As the connector is set up; until somebody chose, that is nothing."""
        everything = connection.config.get("syncScope") == "full"
        return cls(everything, connection.selected("folders"), connection.selected("files"))

    @property
    def mark(self) -> str:
        """Changes with the selection: a cursor of another one is worth nothing."""
        return version(str(self.everything), *sorted(self.folders), "files", *sorted(self.files))

    def tree(self) -> Tree:
        """An empty tree of what is selected."""
        return Tree(None if self.everything else frozenset(self.folders))


@dataclass(slots=True)
class TreeRun(ABC, Generic[F]):
    """Folders and shortcuts are held in memory, files are not: only a note of the folder each is in."""

    selection: Selection
    known: Known
    tree: Tree = field(init=False)
    homes: dict[str, str] = field(default_factory=dict)
    """The drive that a folder is in, where it is not the account's own."""
    stored: dict[str, str] = field(default_factory=dict)
    loaded: bool = False
    broken: int = 0

    def __post_init__(self) -> None:
        self.tree = self.selection.tree()

    @abstractmethod
    def unreadable(self, file: F) -> Failure | None:
        """Why a file is not fetched, as far as its description tells."""

    @abstractmethod
    def version(self, file: F) -> str:
        """What changes with its content, name and place."""

    @abstractmethod
    async def content(self, file: F) -> Item | Failure | Removed:
        """The file as an item."""

    async def taken(self, files: Sequence[F], checkpoint: Checkpoint | None = None) -> AsyncIterator[Step]:
        """Fetch what is new or changed among these, and remember in which folders they all are."""
        for at in range(0, len(files), SLICE):
            readable: list[F] = []
            for file in files[at : at + SLICE]:
                if (failure := self.unreadable(file)) is not None:
                    yield failure
                else:
                    readable.append(file)
            async for step in self._placed(readable):
                yield step
            wanted = await self.known.wanted([(file.id, self.version(file)) for file in readable])
            async for step in mapped((f for f in readable if f.id in wanted), self._fetched, WIDTH):
                yield step
            if checkpoint is not None and at + SLICE < len(files):
                yield checkpoint

    async def left(self, folders: set[str], targets: set[str], kept: set[str]) -> AsyncIterator[Step]:
        """Files whose folder, or the shortcut to them, is not selected any more. No change names them."""
        if not folders and not targets:
            return
        scope = self.tree.scope()
        async for key, parent in self.known.all_notes(file_note("")):
            id_ = key.removeprefix(file_note(""))
            if (parent in folders or id_ in targets) and parent not in scope and id_ not in kept:
                yield Removed(id_)
                yield Note(key, None)

    def removed(self, id_: str) -> tuple[Step, ...]:
        """A file is gone, and with it what was noted of it."""
        return Removed(id_), Note(file_note(id_), None)

    async def remembered(self) -> None:
        """Folders and shortcuts as they were when a run last looked."""
        if self.loaded:
            return
        self.loaded = True
        async for key, value in self.known.all_notes("tree/"):
            self.stored[key] = value
            _, kind, id_ = key.split("/", 2)
            kept = json.loads(value)
            if kind == "folder":
                name, parent, home = kept
                self.tree.folders[id_] = Folder(name, parent)
                self.homes |= {id_: home} if home else {}
            else:
                self.tree.shortcuts[id_] = Shortcut(*kept)

    def notes(self) -> list[Note]:
        """What there is to remember that was not, and to forget that was."""
        now = {
            f"tree/folder/{id_}": json.dumps([folder.name, folder.parent, self.homes.get(id_, "")])
            for id_, folder in self.tree.folders.items()
        } | {
            f"tree/shortcut/{id_}": json.dumps([shortcut.parent, shortcut.target, shortcut.folder])
            for id_, shortcut in self.tree.shortcuts.items()
        }
        notes = [Note(key, value) for key, value in now.items() if self.stored.get(key) != value]
        notes += [Note(key, None) for key in self.stored.keys() - now.keys()]
        self.stored = now
        return notes

    async def _placed(self, files: Sequence[F]) -> AsyncIterator[Step]:
        notes = await self.known.notes([file_note(file.id) for file in files])
        for file in files:
            if notes.get(file_note(file.id)) != (file.parent or ""):
                yield Note(file_note(file.id), file.parent or "")

    async def _fetched(self, file: F) -> Item | Failure | Removed:
        try:
            step = await self.content(file)
        except UnavailableError as error:
            self.broken += 1
            if self.broken >= _IN_A_ROW:
                raise
            return Failure(file.id, str(error), title=file.name, code="unavailable", again=True)
        self.broken = 0
        return step


MISSING = "The selected folder is gone or is not shared with this account any more. Choose again."


def file_note(id_: str) -> str:
    """The key of the note that says in which folder a file is."""
    return f"file/{id_}"
