"""The one way in which memories change: edits together with what they mean for versions, in one update."""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from hashlib import blake2b

from pipeline.locks import LocalLocks
from pipeline.memory.ledger import Ledger, known
from pipeline.memory.versions import Node, Standing, family, standings
from pipeline.ports import Catalog, Hold, Locks, Memories
from pipeline.rows import MemoryRow

Edit = Callable[[MemoryRow | None], MemoryRow | None]
"""What a change does to a row; None: the row is not there. The same object back: unchanged."""

_STRIPES = 256
"""Locks that all spaces share, so that there is not a lock for each of them for ever."""


class Keeper:
    """Serialises changes of memories of a space; the ledger shows it what replaces what.

    `locks`: those of every process that changes memories; by default there is this one.
    """

    def __init__(
        self, memories: Memories, ledger: Ledger, catalog: Catalog, locks: Locks | None = None
    ) -> None:
        self._memories = memories
        self._ledger = ledger
        self._catalog = catalog
        self._locks = locks if locks is not None else LocalLocks()

    async def change(self, spaces: Iterable[str], edits: Mapping[str, Sequence[Edit]]) -> None:
        """Apply edits by memory id, in order, and settle the versions of every family they touch."""
        if not edits:
            return
        async with self._alone(spaces) as (together, holds):
            found = await self._memories.get(edits.keys())
            # Nothing may be awaited between loading and settling: what is loaded could be evicted meanwhile.
            await self._ledger.load(together)
            planned = {one: _edited(edits[one], _first(found.get(one))) for one in edits}
            settled = self._settled(planned)

            def apply(one: str, rows: list[MemoryRow]) -> Sequence[MemoryRow] | None:
                before = _first(rows)
                after = _standing(_edited(edits.get(one, ()), before), settled.get(one))
                return None if after is before else [] if after is None else [after]

            for hold in holds:
                hold.check()
            await self._memories.update([*edits, *(one for one in settled if one not in edits)], apply)

    async def withdraw(self, documents: Collection[str]) -> None:
        """Documents are gone: so are the memories that only they supported."""
        rows = await self._memories.of_documents(documents)
        gone = frozenset(documents)
        await self.change({row.space for row in rows}, {row.id: [without(gone)] for row in rows})

    @asynccontextmanager
    async def _alone(self, spaces: Iterable[str]) -> AsyncIterator[tuple[set[str], list[Hold]]]:
        """All that versions of these spaces may run across, while nobody else changes memories of it."""
        wanted = set(spaces)
        while True:
            together = self._together(wanted)
            async with AsyncExitStack() as held:
                # In one order everywhere, so that no two wait for each other.
                names = sorted({_lock_name(space) for space in together})
                holds = [await held.enter_async_context(self._locks.hold(name)) for name in names]
                if self._together(wanted) == together:
                    yield together, holds
                    return
            # Spaces were moved meanwhile: others may be changed together with these now.

    def _together(self, spaces: Iterable[str]) -> set[str]:
        """All spaces of the namespaces that own these: versions may run across them."""
        owners = {space: self._catalog.owner(space) for space in spaces}
        return {
            one
            for space, owner in owners.items()
            for one in (owner.spaces if owner is not None else (space,))
        }

    async def durable(self) -> None:
        """Wait until every change so far is on disk."""
        await self._memories.durable()

    def _settled(self, planned: Mapping[str, MemoryRow | None]) -> dict[str, Standing]:
        """The standings of all families in which something changes."""
        facts = {one: known(row) if row is not None else None for one, row in planned.items()}
        added: dict[str, set[str]] = {}
        for fact in facts.values():
            for target in fact.updates if fact is not None else ():
                added.setdefault(target, set()).add(fact.id if fact is not None else "")

        def node(one: str) -> Node | None:
            fact = facts[one] if one in facts else self._ledger.get(one)
            return Node(fact.when, fact.updates) if fact is not None and fact.pending is None else None

        def connected(one: str) -> set[str]:
            before = self._ledger.get(one)
            return {
                *self._ledger.later(one),
                *added.get(one, ()),
                *(before.updates if before is not None else ()),
            }

        seeds = [one for one in planned if connected(one) or (facts[one] is not None and facts[one].updates)]  # type: ignore[union-attr]  # just looked
        members = family(seeds, node, connected)
        return standings({one: here for one in members if (here := node(one)) is not None})


def _lock_name(space: str) -> str:
    return f"memories/{int.from_bytes(blake2b(space.encode(), digest_size=8).digest()) % _STRIPES}"


def without(documents: Collection[str]) -> Edit:
    """These documents no longer support the memory; with its last source it goes."""

    def edit(row: MemoryRow | None) -> MemoryRow | None:
        if row is None or not any(source in documents for source in row.sources):
            return row
        left = tuple(source for source in row.sources if source not in documents)
        return replace(row, sources=left) if left else None

    return edit


def _first(rows: Sequence[MemoryRow] | None) -> MemoryRow | None:
    return rows[0] if rows else None


def _edited(edits: Iterable[Edit], row: MemoryRow | None) -> MemoryRow | None:
    for edit in edits:
        row = edit(row)
    return row


def _standing(row: MemoryRow | None, standing: Standing | None) -> MemoryRow | None:
    if row is None:
        return None
    version = standing.version if standing is not None else 1
    latest = row.forgotten_at is None and not (standing is not None and standing.replaced)
    if (version, latest) == (row.version, row.is_latest):
        return row
    return replace(row, version=version, is_latest=latest)
