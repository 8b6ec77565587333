"""Runs over a Drive: a complete listing, folders first, and what changes mean for the selection."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.concurrency import mapped
from connectors.errors import CursorExpiredError
from connectors.ports import Checkpoint, Cursor, Failure, Item, Removed, Step
from connectors.providers.drive_api import FOLDER, MINE, SHORTCUT, Change, DriveApi, DriveFile
from connectors.providers.drive_content import fetched, unreadable, version_of
from connectors.providers.tree import Folder
from connectors.providers.tree_run import MISSING, SLICE, WIDTH, TreeRun

_ASKED = 50
"""Folders in one query: more would make a URL that is too long."""
_FILES = f"mimeType != '{FOLDER}' and mimeType != '{SHORTCUT}' and trashed = false"
_FOLDERS = f"(mimeType = '{FOLDER}' or mimeType = '{SHORTCUT}') and trashed = false"


@dataclass(slots=True, kw_only=True)
class DriveRun(TreeRun[DriveFile]):
    """One run of one connector."""

    api: DriveApi
    tokens: dict[str, str] = field(default_factory=dict)
    arrived: dict[str, str] = field(default_factory=dict)
    """Where files that changed in this run are: what one drive calls removed may have moved to another."""

    def unreadable(self, file: DriveFile) -> Failure | None:
        """As its description says."""
        return unreadable(file)

    def version(self, file: DriveFile) -> str:
        """By content, name and place."""
        return version_of(file, self.tree.path(file.parent))

    async def content(self, file: DriveFile) -> Item | Failure | Removed:
        """Exported or downloaded."""
        return await fetched(self.api, file, self.tree.path(file.parent))

    async def steps(self, cursor: Cursor | None) -> AsyncIterator[Step]:
        """A complete listing without a cursor or with one that says how far it came, else what changed."""
        if cursor is not None and cursor.get("selection") != self.selection.mark:
            raise CursorExpiredError("Something else is selected now.")
        run = self._changes(cursor) if cursor is not None and "batch" not in cursor else self._listing(cursor)
        async for step in run:
            yield step

    # A complete listing.

    async def _listing(self, cursor: Cursor | None) -> AsyncIterator[Step]:
        await self.remembered()
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
                async for step in self.taken(files, self._checkpoint(batch=number, page=page)):
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
                yield Failure(root, MISSING, code="not_found")
            else:
                await self._home(file.home)
                self._add([file])
        if not self.selection.everything:
            await self._descend(self.tree.scope())
        for note in self.notes():
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
        for at in range(0, len(ids), SLICE):
            files: list[DriveFile] = []
            async for id_, file in mapped(ids[at : at + SLICE], self._single, WIDTH):
                if file is None or file.trashed:
                    yield Removed(id_)
                elif not file.folder:
                    files.append(file)
                    await self._home(file.home)
            async for step in self.taken(files):
                yield step

    async def _single(self, id_: str) -> tuple[str, DriveFile | None]:
        return id_, await self.api.file(id_)

    # What changed.

    async def _changes(self, cursor: Cursor) -> AsyncIterator[Step]:
        self.tokens = _tokens(cursor)
        if failed := await self.known.failed():
            await self.remembered()
            async for step in self._singles(failed):
                yield step
        for home in list(self.tokens):
            while True:
                page = await self.api.changes(home, self.tokens[home])
                if page.changes:
                    async for step in self._applied(home, {change.id: change for change in page.changes}):
                        yield step
                self.tokens[home] = page.token
                yield self._checkpoint()
                if page.last:
                    break

    async def _applied(self, home: str, changes: Mapping[str, Change]) -> AsyncIterator[Step]:
        """What a page of a home's changes means; of each id its newest state."""
        if self.selection.everything and any(change.drive for change in changes.values()):
            raise CursorExpiredError("A shared drive was joined or left.")
        await self.remembered()
        changes = {id_: change for id_, change in changes.items() if not self._moved_on(home, change)}
        before, targets = self.tree.scope(), self.tree.targets(self.tree.scope())
        paths = {folder: self.tree.path(folder) for folder in before}
        self._put(changes)
        await self._follow_shortcuts()
        await self._descend(self.tree.scope() - before)
        scope = self.tree.scope()
        self._prune(scope)
        added, left = self.tree.targets(scope) - targets, targets - self.tree.targets(scope)
        async for step in self.left(before - scope, left, set(self._single_files())):
            yield step
        moved = [folder for folder in scope if paths.get(folder) != self.tree.path(folder)]
        self.arrived |= {id_: change.file.home for id_, change in changes.items() if change.file}
        held = [file for change in changes.values() if (file := self._held(change.file)) is not None]
        for change in changes.keys() - {file.id for file in held}:
            for step in self.removed(change):
                yield step
        async for step in self.taken(held):
            yield step
        for place, query in self._queries(moved, _FILES):
            async for step in self.taken(await self.api.all_files(query, home=place)):
                yield step
        async for step in self._singles(sorted(added)):
            yield step
        # Last: a run that was killed before has to find again what entered and what left.
        for note in self.notes():
            yield note

    def _moved_on(self, home: str, change: Change) -> bool:
        """Whether a drive says of something that it is gone which is known to be in another by now."""
        at = self.homes.get(change.id, MINE) if change.id in self.tree.folders else home
        return change.file is None and self.arrived.get(change.id, at) != home

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

    def _held(self, file: DriveFile | None) -> DriveFile | None:
        """A changed file, if it is one to have."""
        if file is None or file.trashed or file.folder or file.target is not None:
            return None
        scope = self.tree.scope()
        inside = self.selection.everything or file.parent in scope
        return file if inside or file.id in {*self.selection.files, *self.tree.targets(scope)} else None

    # Both.

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

    def _checkpoint(self, **place: int | str | None) -> Checkpoint:
        return Checkpoint({"selection": self.selection.mark, "tokens": dict(self.tokens), **place})


def _within(folder: str) -> str:
    return f"'{folder}' in parents"


def _tokens(cursor: Cursor) -> dict[str, str]:
    tokens = cursor["tokens"]
    return {str(home): str(token) for home, token in tokens.items()} if isinstance(tokens, Mapping) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
