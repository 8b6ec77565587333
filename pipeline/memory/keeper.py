"""The one way in which memories change: edits together with what they mean for versions, in one update."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from hashlib import blake2b

from pipeline.locks import LocalLocks
from pipeline.memory.conclusions import all_premises, concluded, premises
from pipeline.memory.ledger import Facts, Ledger, keys_of
from pipeline.memory.settling import settling, standing_as
from pipeline.memory.statements import Edit, without
from pipeline.ports import Catalog, Hold, Locks, Memories
from pipeline.rows import MemoryRow

_STRIPES = 256
"""Locks that all spaces share, so that there is not a lock for each of them for ever."""


class Keeper:
    """Serialises changes of memories of a space; the ledger finds what replaces what.

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
            there = {one: _first(found.get(one)) for one in edits}
            planned = {one: _edited(edits[one], row) for one, row in there.items()}
            facts = await self._ledger.around(together, there, planned)
            settled = settling(facts, planned)

            def apply(one: str, rows: list[MemoryRow]) -> Sequence[MemoryRow] | None:
                before = _first(rows)
                after = standing_as(_edited(edits.get(one, ()), before), settled.get(one))
                return None if after is before else [] if after is None else [_found(after)]

            for hold in holds:
                hold.check()
            changed = [*edits, *(one for one in settled if one not in edits)]
            after = await self._memories.update(changed, apply)
            await self._conclude(together, facts, {**dict.fromkeys(edits), **_each_first(after)})
            for hold in holds:
                hold.check()

    async def _conclude(
        self, together: Sequence[str], facts: Facts, changed: Mapping[str, MemoryRow | None]
    ) -> None:
        """What follows from memories that changed, or is itself new, holds as far as they do; and so on."""
        ids = {one for id_ in changed for one in facts.concluded(id_)}
        ids |= {id_ for id_, row in changed.items() if row is not None and premises(row)}
        while ids:
            rows = _each_first(await self._memories.get(ids))
            there = [row for row in rows.values() if row is not None]
            premised = _each_first(await self._memories.get(all_premises(there)))
            facts = await self._ledger.around(together, rows)
            after = {row.id: concluded(row, premised, replaced=bool(facts.later(row.id))) for row in there}
            changed = {id_: row for id_, row in after.items() if row is not rows[id_]}
            await self._memories.update(list(changed), lambda one, _, after=after: _listed(after[one]))  # type: ignore[misc]  # bound per round
            ids = {one for id_ in changed for one in facts.concluded(id_)}

    async def withdraw(self, documents: Collection[str]) -> None:
        """Documents are gone: so are the memories that only they supported."""
        rows = await self._memories.of_documents(documents)
        gone = without(frozenset(documents))
        await self.change({row.space for row in rows}, {row.id: [gone] for row in rows})

    @asynccontextmanager
    async def _alone(self, spaces: Iterable[str]) -> AsyncIterator[tuple[list[str], list[Hold]]]:
        """All that versions of these spaces may run across, while nobody else changes memories of it."""
        wanted = set(spaces)
        while True:
            together = self._together(wanted)
            async with AsyncExitStack() as held:
                # In one order everywhere, so that no two wait for each other.
                names = sorted({_lock_name(space) for space in together})
                holds = [await held.enter_async_context(self._locks.hold(name)) for name in names]
                if self._together(wanted) == together:
                    yield sorted(together), holds
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


def _found(row: MemoryRow) -> MemoryRow:
    """With the keys it is to be found by."""
    keys = keys_of(row)
    return row if keys == row.keys else replace(row, keys=keys)


def _lock_name(space: str) -> str:
    return f"memories/{int.from_bytes(blake2b(space.encode(), digest_size=8).digest()) % _STRIPES}"


def _each_first(groups: Mapping[str, Sequence[MemoryRow]]) -> dict[str, MemoryRow | None]:
    return {id_: _first(rows) for id_, rows in groups.items()}


def _listed(row: MemoryRow | None) -> list[MemoryRow]:
    return [] if row is None else [row]


def _first(rows: Sequence[MemoryRow] | None) -> MemoryRow | None:
    return rows[0] if rows else None


def _edited(edits: Iterable[Edit], row: MemoryRow | None) -> MemoryRow | None:
    for edit in edits:
        row = edit(row)
    return row
