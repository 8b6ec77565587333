"""`ports.Known`: what the engine knows of a connector's items, and where documentLimit is kept."""

from collections.abc import AsyncIterator, Sequence

from connectors.documents import Fingerprint
from connectors.ports import Failure, Item, Note
from pipeline.store.connector_state import ConnectorState, StateKind, StateRow

AGAIN = "again"
_FAILED = 1000


class KnownItems:
    """Items as of the last commit and what this run found since, until `take` hands it over.

    `listing`: the number of the complete listing that is under way, or of the last one. In a complete listing
    the first `limit` items keep or get their place; otherwise what is new needs a free one.
    """

    def __init__(
        self, state: ConnectorState, *, listing: int, full: bool, limit: int, documents: int, placed: int
    ) -> None:
        self._state = state
        self.listing = listing
        self._full = full
        self._limit = limit
        self.documents = documents
        """Items that have a document."""
        self._placed = placed
        self.left_out = 0
        self._asked: dict[str, str] = {}
        self._rows: dict[str, StateRow] = {}
        self._gone: dict[str, StateRow] = {}
        self._looked: dict[str, StateRow | None] = {}
        """Rows of items that were asked for and have not arrived: one look per page, not per item."""

    # What a provider asks.

    async def wanted(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        """As `ports.Known.wanted`."""
        ids = [id_ for id_, _ in versions]
        items, failures = await self._get("item", ids), await self._get("failed", ids)
        wanted: set[str] = set()
        for id_, version in versions:
            item, failed = items.get(id_), failures.get(id_)
            if not self._place(id_, item, failed):
                continue
            same = item is not None and item.version == version
            hopeless = failed is not None and failed.version == version and failed.value != AGAIN
            for row in (item, failed):
                if row is not None and row.seen != self.listing:
                    self._put(StateRow(row.kind, id_, row.version, row.value, self.listing))
            if not (same or hopeless):
                self._asked[id_] = version
                self._looked |= {f"item/{id_}": items.get(id_), f"failed/{id_}": failures.get(id_)}
                wanted.add(id_)
        return wanted

    async def versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """As `ports.Known.versions`."""
        async for rows in self._pages("item", prefix):
            for row in rows:
                yield row.id, row.version

    async def failed(self) -> list[str]:
        """As `ports.Known.failed`."""
        found: list[str] = []
        async for rows in self._pages("failed", ""):
            found += [row.id for row in rows if row.value == AGAIN]
            if len(found) >= _FAILED:
                break
        return found[:_FAILED]

    async def notes(self, keys: Sequence[str]) -> dict[str, str]:
        """As `ports.Known.notes`."""
        return {id_: row.value for id_, row in (await self._get("note", keys)).items()}

    async def all_notes(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """As `ports.Known.all_notes`."""
        async for rows in self._pages("note", prefix):
            for row in rows:
                yield row.id, row.value

    # What the run tells.

    async def arrived(self, item: Item) -> tuple[bool, Fingerprint | None]:
        """Whether there is a place for an item, and what was sent of it last."""
        row = (await self._get("item", [item.id])).get(item.id)
        asked = self._asked.pop(item.id, None) is not None
        if not asked and not self._place(item.id, row, (await self._get("failed", [item.id])).get(item.id)):
            return False, None
        return True, None if row is None else Fingerprint.read(row.value)

    async def sent(self, item: Item, fingerprint: Fingerprint) -> None:
        """The item has its document."""
        known = await self._get("item", [item.id])
        self.documents += item.id not in known
        self._put(StateRow("item", item.id, item.version, str(fingerprint), self.listing))
        await self._drop("failed", item.id)
        self._arrived(item.id)

    async def unreadable(self, failure: Failure) -> None:
        """The item has none, or keeps the one it has."""
        version = self._asked.pop(failure.id, "")
        value = AGAIN if failure.again else ""
        self._put(StateRow("failed", failure.id, version, value, self.listing))
        if row := (await self._get("item", [failure.id])).get(failure.id):
            self._put(StateRow("item", row.id, row.version, row.value, self.listing))
        self._arrived(failure.id)

    async def removed(self, id_: str) -> bool:
        """Whether the item had a document."""
        self._asked.pop(id_, None)
        await self._drop("failed", id_)
        had = await self._drop("item", id_)
        self.documents -= had
        self._arrived(id_)
        return had

    def noted(self, note: Note) -> None:
        """A note of the provider's."""
        row = StateRow("note", note.key, value=note.value or "")
        if note.value is None:
            self._rows.pop(row.key, None)
            self._gone[row.key] = row
        else:
            self._put(row)

    def take(self) -> tuple[list[StateRow], list[StateRow]]:
        """What is to be written, and what is to go; forgotten here."""
        rows, gone = list(self._rows.values()), list(self._gone.values())
        self._rows, self._gone = {}, {}
        return rows, gone

    @property
    def waiting(self) -> int:
        """How much `take` would hand over."""
        return len(self._rows) + len(self._gone)

    async def unmentioned(self) -> AsyncIterator[list[StateRow]]:
        """Items and failures that the complete listing did not mention. Take first."""
        kinds: tuple[StateKind, ...] = ("item", "failed")
        for kind in kinds:
            async for rows in self._state.pages(kind, unseen_since=self.listing):
                yield rows

    def _arrived(self, id_: str) -> None:
        self._looked.pop(f"item/{id_}", None)
        self._looked.pop(f"failed/{id_}", None)

    def _place(self, id_: str, item: StateRow | None, failed: StateRow | None) -> bool:
        """Whether an item is among those that documentLimit allows."""
        seen = {row.seen for row in (item, failed) if row is not None}
        if id_ in self._asked or (self._full and self.listing in seen):
            return True
        if self._full:
            fits = self._placed < self._limit
            self._placed += fits
        else:
            fits = item is not None or self.documents + len(self._asked) < self._limit
        self.left_out += not fits
        return fits

    def _put(self, row: StateRow) -> None:
        self._rows[row.key] = row
        self._gone.pop(row.key, None)

    async def _drop(self, kind: StateKind, id_: str) -> bool:
        row = (await self._get(kind, [id_])).get(id_)
        if row is None:
            return False
        self._rows.pop(row.key, None)
        self._gone[row.key] = row
        return True

    async def _get(self, kind: StateKind, ids: Sequence[str]) -> dict[str, StateRow]:
        found: dict[str, StateRow] = {}
        unknown: list[str] = []
        for id_ in ids:
            key = f"{kind}/{id_}"
            if (row := self._rows.get(key) or self._looked.get(key)) is not None:
                if key not in self._gone:
                    found[id_] = row
            elif key not in self._gone and key not in self._looked:
                unknown.append(id_)
        return found | (await self._state.get(kind, unknown) if unknown else {})

    async def _pages(self, kind: StateKind, prefix: str) -> AsyncIterator[list[StateRow]]:
        """With what is not written yet: first of all a page of that, then the rest without it."""
        changed = self._rows.keys() | self._gone.keys()
        fresh = [row for row in self._rows.values() if row.kind == kind and row.id.startswith(prefix)]
        if fresh:
            yield sorted(fresh, key=lambda row: row.id)
        async for rows in self._state.pages(kind, prefix=prefix):
            yield [row for row in rows if row.key not in changed]
