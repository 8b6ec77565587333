"""Runs over a Drive: a complete listing, folders first, and what changes mean for the selection."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.concurrency import mapped
from connectors.errors import CursorExpiredError, UnavailableError
from connectors.ports import Checkpoint, Connection, Cursor, Failure, Item, Known, Note, Removed, Step
from connectors.providers.drive_api import FOLDER, MINE, SHORTCUT, Change, DriveApi, DriveFile
from connectors.providers.drive_content import fetched, unreadable, version_of
from connectors.providers.files import version
from connectors.providers.tree import Folder, Shortcut, Tree

_ASKED = 50
"""Folders in one query: more would make a URL that is too long."""
_SLICE = 200
_WIDTH = 8
_IN_A_ROW = 3
"""So many files that Drive can't hand over one after the other, and it is Drive that is at fault."""
_FILES = f"mimeType != '{FOLDER}' and mimeType != '{SHORTCUT}' and trashed = false"
_FOLDERS = f"(mimeType = '{FOLDER}' or mimeType = '{SHORTCUT}') and trashed = false"


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


@dataclass(slots=True)
class DriveRun:
    """One run of one connector. Folders and shortcuts are held in memory, files are not."""

    api: DriveApi
    selection: Selection
    known: Known
    tree: Tree = field(init=False)
    homes: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)
    broken: int = 0

    def __post_init__(self) -> None:
        self.tree = Tree(None if self.selection.everything else frozenset(self.selection.folders))

    async def steps(self, cursor: Cursor | None) -> AsyncIterator[Step]:
        """A complete listing without a cursor or with one that says how far it came, else what changed."""
        if cursor is not None and cursor.get("selection") != self.selection.mark:
            raise CursorExpiredError("Something else is selected now.")
        run = self._changes(cursor) if cursor is not None and "batch" not in cursor else self._listing(cursor)
        async for step in run:
            yield step

    # A complete listing.

    async def _listing(self, cursor: Cursor | None) -> AsyncIterator[Step]:
        await self._remembered()
        page: Any = None
        begun = 0
        if cursor is None:
            async for step in self._discovered():
                yield step
            yield self._checkpoint(batch=0)
        else:
            self.tokens, begun, page = _tokens(cursor), _number(cursor["batch"]), cursor.get("page")
        batches = self._batches()
        for number, (home, query) in enumerate(batches[begun:], begun):
            while True:
                files, following = await self.api.files(query, home=home, page=page)
                async for step in self._taken(files, self._checkpoint(batch=number, page=page)):
                    yield step
                page = following
                if page is None:
                    break
                yield self._checkpoint(batch=number, page=page)
            yield self._checkpoint(batch=number + 1)
        async for step in self._singles(self._single_files()):
            yield step
        yield self._checkpoint()

    async def _discovered(self) -> AsyncIterator[Step]:
        """Find every folder first: paths need their names, and files are listed for many of them at once."""
        self.tree.folders.clear()
        self.tree.shortcuts.clear()
        await self._home(MINE)
        if self.selection.everything:
            for drive, _ in await self.api.drives():
                await self._home(drive)
            for home in self.tokens:
                self._add(await self.api.all_files(_FOLDERS, home=home))
        for root in () if self.selection.everything else self.selection.folders:
            file = await self.api.file(root)
            if file is None or file.trashed:
                yield Failure(root, _MISSING, code="not_found")
            else:
                await self._home(file.home)
                self._add([file])
        if not self.selection.everything:
            await self._descend(self.tree.scope())
        for note in self._notes():
            yield note

    async def _descend(self, folders: Iterable[str]) -> None:
        """Add what is in these folders, and in those, and behind shortcuts to folders."""
        waiting = set(folders)
        while waiting:
            before = self.tree.scope()
            for home, query in self._queries(waiting, _FOLDERS):
                self._add(await self.api.all_files(query, home=home))
            await self._follow_shortcuts()
            waiting = self.tree.scope() - before

    async def _follow_shortcuts(self) -> None:
        if self.selection.everything:
            return  # what they lead to is found anyway
        scope = self.tree.scope()
        for shortcut in list(self.tree.shortcuts.values()):
            if shortcut.folder and shortcut.parent in scope and shortcut.target not in self.tree.folders:
                target = await self.api.file(shortcut.target)
                if target is not None and target.folder and not target.trashed:
                    await self._home(target.home)
                    self._add([target])

    def _batches(self) -> list[tuple[str, str]]:
        if self.selection.everything:
            return [(home, _FILES) for home in self.tokens]
        return self._queries(self.tree.scope(), _FILES)

    def _queries(self, folders: Iterable[str], kind: str) -> list[tuple[str, str]]:
        """The queries for what is in these folders, in an order that is the same when a run continues."""
        by_home: dict[str, list[str]] = {}
        for folder in sorted(folders):
            by_home.setdefault(self.homes.get(folder, MINE), []).append(folder)
        return [
            (home, f"{kind} and ({' or '.join(_within(folder) for folder in members[at : at + _ASKED])})")
            for home, members in sorted(by_home.items())
            for at in range(0, len(members), _ASKED)
        ]

    def _single_files(self) -> list[str]:
        return sorted({*self.selection.files, *self.tree.targets(self.tree.scope())})

    async def _singles(self, ids: Sequence[str]) -> AsyncIterator[Step]:
        """Files that were asked for by id, not found in a folder."""
        for at in range(0, len(ids), _SLICE):
            files: list[DriveFile] = []
            async for id_, file in mapped(ids[at : at + _SLICE], self._single, _WIDTH):
                if file is None or file.trashed:
                    yield Removed(id_)
                elif not file.folder:
                    files.append(file)
                    await self._home(file.home)
            async for step in self._taken(files):
                yield step

    async def _single(self, id_: str) -> tuple[str, DriveFile | None]:
        return id_, await self.api.file(id_)

    # What changed.

    async def _changes(self, cursor: Cursor) -> AsyncIterator[Step]:
        self.tokens = _tokens(cursor)
        if failed := await self.known.failed():
            await self._remembered()
            async for step in self._singles(failed):
                yield step
        for home in list(self.tokens):
            while True:
                page = await self.api.changes(home, self.tokens[home])
                if page.changes:
                    async for step in self._applied({change.id: change for change in page.changes}):
                        yield step
                self.tokens[home] = page.token
                yield self._checkpoint()
                if page.last:
                    break

    async def _applied(self, changes: Mapping[str, Change]) -> AsyncIterator[Step]:
        """What a page of changes means; of each id its newest state."""
        if self.selection.everything and any(change.drive for change in changes.values()):
            raise CursorExpiredError("A shared drive was joined or left.")
        await self._remembered()
        before, targets = self.tree.scope(), self.tree.targets(self.tree.scope())
        paths = {folder: self.tree.path(folder) for folder in before}
        self._put(changes)
        await self._follow_shortcuts()
        await self._descend(self.tree.scope() - before)
        scope = self.tree.scope()
        self._prune(scope)
        added, left = self.tree.targets(scope) - targets, targets - self.tree.targets(scope)
        async for step in self._left(before - scope, left):
            yield step
        moved = [folder for folder in scope if paths.get(folder) != self.tree.path(folder)]
        for note in self._notes():
            yield note
        held = [file for change in changes.values() if (file := self._held(change.file)) is not None]
        for change in changes.keys() - {file.id for file in held}:
            yield Removed(change)
            yield Note(_of_file(change), None)
        async for step in self._taken(held):
            yield step
        for home, query in self._queries(moved, _FILES):
            async for step in self._taken(await self.api.all_files(query, home=home)):
                yield step
        async for step in self._singles(sorted(added)):
            yield step

    def _put(self, changes: Mapping[str, Change]) -> None:
        """Bring folders and shortcuts up to date; what was in a folder that is gone, goes with it."""
        there = [change.file for change in changes.values() if change.file and not change.file.trashed]
        self._add(there)
        gone = changes.keys() - {file.id for file in there}
        for folder in self.tree.below(gone):
            del self.tree.folders[folder]
        for shortcut in gone:
            self.tree.shortcuts.pop(shortcut, None)

    def _prune(self, scope: set[str]) -> None:
        """Forget what is not selected: nobody keeps it up to date."""
        self.tree.folders = {id_: folder for id_, folder in self.tree.folders.items() if id_ in scope}
        self.tree.shortcuts = {
            id_: shortcut for id_, shortcut in self.tree.shortcuts.items() if shortcut.parent in scope
        }

    async def _left(self, folders: set[str], targets: set[str]) -> AsyncIterator[Step]:
        """Files whose folder, or the shortcut to them, is not selected any more. No change names them."""
        if not folders and not targets:
            return
        scope, wanted = self.tree.scope(), set(self._single_files())
        async for key, parent in self.known.all_notes(_of_file("")):
            id_ = key.removeprefix(_of_file(""))
            if (parent in folders or id_ in targets) and parent not in scope and id_ not in wanted:
                yield Removed(id_)
                yield Note(key, None)

    def _held(self, file: DriveFile | None) -> DriveFile | None:
        """A changed file, if it is one to have."""
        if file is None or file.trashed or file.folder or file.target is not None:
            return None
        scope = self.tree.scope()
        inside = self.selection.everything or file.parent in scope
        return file if inside or file.id in {*self.selection.files, *self.tree.targets(scope)} else None

    # Both.

    async def _taken(
        self, files: Sequence[DriveFile], checkpoint: Checkpoint | None = None
    ) -> AsyncIterator[Step]:
        """Fetch what is new or changed among these, and remember in which folders they all are."""
        for at in range(0, len(files), _SLICE):
            readable: list[DriveFile] = []
            for file in files[at : at + _SLICE]:
                if (failure := unreadable(file)) is not None:
                    yield failure
                else:
                    readable.append(file)
            async for step in self._placed(readable):
                yield step
            wanted = await self.known.wanted([(file.id, self._version(file)) for file in readable])
            async for step in mapped((f for f in readable if f.id in wanted), self._fetched, _WIDTH):
                yield step
            if checkpoint is not None and at + _SLICE < len(files):
                yield checkpoint

    async def _placed(self, files: Sequence[DriveFile]) -> AsyncIterator[Step]:
        notes = await self.known.notes([_of_file(file.id) for file in files])
        for file in files:
            if notes.get(_of_file(file.id)) != (file.parent or ""):
                yield Note(_of_file(file.id), file.parent or "")

    async def _fetched(self, file: DriveFile) -> Item | Failure | Removed:
        try:
            step = await fetched(self.api, file, self.tree.path(file.parent))
        except UnavailableError as error:
            self.broken += 1
            if self.broken >= _IN_A_ROW:
                raise
            return Failure(file.id, str(error), title=file.name, code="unavailable", again=True)
        self.broken = 0
        return step

    def _version(self, file: DriveFile) -> str:
        return version_of(file, self.tree.path(file.parent))

    async def _home(self, home: str) -> None:
        """Note where a home's feed stands before anything in it is listed, so that nothing falls between."""
        if home not in self.tokens:
            self.tokens[home] = await self.api.start(home)

    def _add(self, files: Iterable[DriveFile]) -> None:
        for file in files:
            if file.folder:
                self.tree.folders[file.id] = Folder(file.name, file.parent)
                self.homes[file.id] = file.home
            elif (shortcut := file.shortcut) is not None:
                self.tree.shortcuts[file.id] = shortcut

    async def _remembered(self) -> None:
        """Folders and shortcuts as they were when a run last looked."""
        if self.stored:
            return
        async for key, value in self.known.all_notes("tree/"):
            self.stored[key] = value
            _, kind, id_ = key.split("/", 2)
            kept = json.loads(value)
            if kind == "folder":
                name, parent, self.homes[id_] = kept
                self.tree.folders[id_] = Folder(name, parent)
            else:
                self.tree.shortcuts[id_] = Shortcut(*kept)

    def _notes(self) -> list[Note]:
        """What there is to remember that was not, and to forget that was."""
        now = {
            f"tree/folder/{id_}": json.dumps([folder.name, folder.parent, self.homes.get(id_, MINE)])
            for id_, folder in self.tree.folders.items()
        } | {
            f"tree/shortcut/{id_}": json.dumps([shortcut.parent, shortcut.target, shortcut.folder])
            for id_, shortcut in self.tree.shortcuts.items()
        }
        notes = [Note(key, value) for key, value in now.items() if self.stored.get(key) != value]
        notes += [Note(key, None) for key in self.stored.keys() - now.keys()]
        self.stored = now
        return notes

    def _checkpoint(self, **place: int | str | None) -> Checkpoint:
        return Checkpoint({"selection": self.selection.mark, "tokens": dict(self.tokens), **place})


_MISSING = "The selected folder is gone or is not shared with this account any more. Choose again."


def _within(folder: str) -> str:
    return f"'{folder}' in parents"


def _of_file(id_: str) -> str:
    """The note of the folder a file is in."""
    return f"file/{id_}"


def _tokens(cursor: Cursor) -> dict[str, str]:
    tokens = cursor["tokens"]
    return {str(home): str(token) for home, token in tokens.items()} if isinstance(tokens, Mapping) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
