"""Runs over a OneDrive. A complete listing and a run over changes are one feed, from different places."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

from connectors.errors import ConnectorError, CursorExpiredError, NotFetchedError
from connectors.ports import Checkpoint, Cursor, Failure, File, Item, Note, Removed, Step
from connectors.providers.files import metadata_of, refusal, version
from connectors.providers.graph import DriveItem, Graph, ItemPage
from connectors.providers.tree import Folder
from connectors.providers.tree_run import MISSING, TreeRun

_GONE = "gone/"
"""Notes of folders that the feed called deleted: they go with its last page, as Microsoft advises, because
what was moved out of them may be named later."""


@dataclass(slots=True, kw_only=True)
class OneDriveRun(TreeRun[DriveItem]):
    """One run of one connector. Every folder of the drive is in the tree, selected or not."""

    graph: Graph
    late: dict[str, DriveItem] = field(default_factory=dict)
    """Files whose folders the feed has not named yet."""
    delta: str | None = None
    gone: set[str] = field(default_factory=set)
    """Folders that the feed called deleted, and did not name since."""

    def unreadable(self, file: DriveItem) -> Failure | None:
        """As its description says."""
        reason = file.refused or refusal(file.name, file.media_type, file.size)
        return Failure(file.id, reason[1], title=file.name, code=reason[0]) if reason else None

    def version(self, file: DriveItem) -> str:
        """By content, name and place."""
        return version(file.content_tag, file.name, file.parent, self.tree.path(file.parent))

    async def content(self, file: DriveItem) -> Item | Failure | Removed:
        """Downloaded as it is."""
        try:
            response = await self.graph.download(file)
        except NotFetchedError as error:
            return Failure(file.id, str(error), title=file.name, code="too_large")
        if response is None:
            return Removed(file.id)
        if response.status_code >= 400:
            message = f"OneDrive answered {response.status_code} when it was asked for the content."
            return Failure(file.id, message, title=file.name, again=True)
        path = self.tree.path(file.parent)
        return Item(
            id=file.id,
            version=self.version(file),
            title=file.name,
            file=File(response.content, file.name, file.media_type),
            url=file.url,
            metadata=metadata_of(file, "file", path),
            date=file.date,
        )

    async def steps(self, cursor: Cursor | None) -> AsyncIterator[Step]:
        """Every page from the cursor on: the first without one."""
        if cursor is not None and cursor.get("selection") != self.selection.mark:
            raise CursorExpiredError("Something else is selected now.")
        async for step in self._begun() if cursor is None else self._again():
            yield step
        link = None if cursor is None else str(cursor["link"])
        halfway = cursor is None or bool(cursor.get("halfway"))
        listing = cursor is None or bool(cursor.get("listing"))
        async for step in self._pages(link, halfway=halfway, listing=listing):
            yield step
        if link is not None and halfway:
            # What was continued is as old as the run that was killed: see what happened since.
            async for step in self._pages(self.delta, halfway=False, listing=False):
                yield step

    async def _pages(self, link: str | None, *, halfway: bool, listing: bool) -> AsyncIterator[Step]:
        while True:
            page = await self.graph.delta(link)
            if page.items or halfway:
                async for step in self._applied(page, listing=listing):
                    yield step
            halfway = True
            link = page.following or page.delta
            if link is None:
                raise ConnectorError("OneDrive sent a page of changes that leads nowhere.")
            if page.following is None:
                self.delta = link
                break
            # What waits for its folder is in memory only: a killed run has to be told of it again.
            if not self.late:
                yield self._checkpoint(link, halfway=True, listing=listing)
        for root in self.selection.folders if listing else ():
            if root not in self.tree.folders:
                yield Failure(root, MISSING, code="not_found")
        yield self._checkpoint(link)

    def _checkpoint(self, link: str, **place: bool) -> Checkpoint:
        return Checkpoint({"selection": self.selection.mark, "link": link, **place})

    async def _begun(self) -> AsyncIterator[Step]:
        """Forget the folders of an earlier listing: this one names all there are."""
        await self.remembered()
        self.tree.folders.clear()
        for note in self.notes():
            yield note
        async for key, _ in self.known.all_notes(_GONE):
            yield Note(key, None)

    async def _again(self) -> AsyncIterator[Step]:
        """What could not be had in the last run."""
        ids = await self.known.failed()
        if ids:
            await self._recalled()
        files: list[DriveItem] = []
        for id_ in ids:
            item = await self.graph.item(id_)
            if item is None or not self._held(item, self.tree.scope()):
                yield Removed(id_)
            else:
                files.append(item)
        async for step in self.taken(files):
            yield step

    async def _applied(self, page: ItemPage, *, listing: bool) -> AsyncIterator[Step]:
        """What a page means for the selection."""
        await self._recalled()
        before = self.tree.scope()
        paths = {folder: self.tree.path(folder) for folder in before}
        for note in self._folders(page):
            yield note
        scope = self.tree.scope()
        async for step in self.left(before - scope, set(), set(self.selection.files)):
            yield step
        moved = {folder for folder in scope & before if paths[folder] != self.tree.path(folder)}
        async for step in self._files(page, scope):
            yield step
        # A complete listing names every file; otherwise a folder may have come or moved as a whole.
        entered = set[str]() if listing else scope - before
        async for step in self._listed(moved | entered, page.items):
            yield step
        # Last: a run that was killed before has to find again what entered and what left.
        for note in self.notes():
            yield note

    async def _recalled(self) -> None:
        if not self.loaded:
            await self.remembered()
            self.gone = {key.removeprefix(_GONE) async for key, _ in self.known.all_notes(_GONE)}

    def _folders(self, page: ItemPage) -> list[Note]:
        """Bring the tree up to date, with what is gone only after the last page."""
        before = set(self.gone)
        for item in page.items:
            if item.gone:
                self.gone |= {item.id} & self.tree.folders.keys()
            elif item.folder or item.root:
                self.gone.discard(item.id)
                name, parent = ("", None) if item.root else (item.name, item.parent)
                self.tree.folders[item.id] = Folder(name, parent)
        if page.following is None:
            for folder in self.tree.below(self.gone):
                del self.tree.folders[folder]
            self.gone = set()
        return [Note(f"{_GONE}{id_}", "" if id_ in self.gone else None) for id_ in sorted(before ^ self.gone)]

    async def _files(self, page: ItemPage, scope: set[str]) -> AsyncIterator[Step]:
        held: list[DriveItem] = []
        waiting = self.late | {item.id: item for item in page.items}
        self.late = {}
        for item in waiting.values():
            if item.folder or item.root:
                continue
            if self._held(item, scope) or (page.following is None and self._stray(item)):
                held.append(item)
            elif not item.gone and page.following is not None and not self._placeable(item):
                self.late[item.id] = item
            else:
                for step in self.removed(item.id):
                    yield step
        async for step in self.taken(held):
            yield step

    def _held(self, item: DriveItem, scope: set[str]) -> bool:
        inside = item.parent in scope if not self.selection.everything else self._placeable(item)
        return not (item.gone or item.folder) and (inside or item.id in self.selection.files)

    def _stray(self, item: DriveItem) -> bool:
        """A file that has its folder nowhere in the whole feed, where everything is selected."""
        return self.selection.everything and not item.gone and not self._placeable(item)

    def _placeable(self, item: DriveItem) -> bool:
        """Whether the folders up to the root are known."""
        folder, seen = item.parent, set[str]()
        while folder is not None and folder not in seen and folder in self.tree.folders:
            seen.add(folder)
            folder = self.tree.folders[folder].parent
        return folder is None and item.parent is not None

    async def _listed(self, folders: set[str], named: Iterable[DriveItem]) -> AsyncIterator[Step]:
        """The files in folders that moved as a whole, which the feed does not name."""
        known = {item.id for item in named}
        waiting = sorted(folders)
        while waiting:
            folder = waiting.pop()
            link: str | None = None
            while True:
                page = await self.graph.children(folder, page=link)
                for item in page.items:
                    if item.folder and item.id not in self.tree.folders:
                        self.tree.folders[item.id] = Folder(item.name, item.parent)
                        waiting.append(item.id)
                files = [item for item in page.items if not item.folder and item.id not in known]
                async for step in self.taken(files):
                    yield step
                link = page.following
                if link is None:
                    break
