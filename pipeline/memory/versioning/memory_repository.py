"""The single write path of memories: edits and the version changes they cause, in one table update."""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from hashlib import blake2b

from pipeline.memory.versioning.fact_lookup import FactIndex, FactLookup, comparison_keys_of
from pipeline.memory.versioning.provenance import MemoryEdit, remove_sources
from pipeline.memory.versioning.truth_maintenance import all_premises, premises, revalidate_conclusion
from pipeline.memory.versioning.version_resolution import resolve_versions, with_version_state
from pipeline.ports import Catalog, Lease, Locks, MemoryTable
from pipeline.rows import MemoryRow
from pipeline.runtime.local_locks import LocalLocks

_LOCK_STRIPES = 256
"""Lock stripes shared by all incarnations, which bounds the number of locks."""


class MemoryRepository:
    """Serializes memory changes per incarnation and keeps versions and conclusions consistent.

    `locks` are shared by all processes that change memories; by default they are local to this process.
    """

    def __init__(
        self, memories: MemoryTable, fact_lookup: FactLookup, catalog: Catalog, locks: Locks | None = None
    ) -> None:
        self._memories = memories
        self._fact_lookup = fact_lookup
        self._catalog = catalog
        self._locks = locks if locks is not None else LocalLocks()

    async def apply(self, incarnations: Iterable[str], edits: Mapping[str, Sequence[MemoryEdit]]) -> None:
        """Apply edits by memory id, in order, and resolve the versions of every family they touch."""
        if not edits:
            return
        async with self._locked(incarnations) as (siblings, leases):
            rows_by_id = await self._memories.get(edits.keys())
            current = {id_: _first_row(rows_by_id.get(id_)) for id_ in edits}
            planned = {id_: _apply_edits(edits[id_], row) for id_, row in current.items()}
            facts = await self._fact_lookup.version_closure(siblings, current, planned)
            states = resolve_versions(facts, planned)

            def update_row(id_: str, rows: list[MemoryRow]) -> Sequence[MemoryRow] | None:
                row = _first_row(rows)
                updated = with_version_state(_apply_edits(edits.get(id_, ()), row), states.get(id_))
                return None if updated is row else [] if updated is None else [_with_comparison_keys(updated)]

            for lease in leases:
                lease.ensure_valid()
            changed = [*edits, *(id_ for id_ in states if id_ not in edits)]
            updated = await self._memories.update(changed, update_row)
            await self._propagate_to_conclusions(siblings, facts, {**dict.fromkeys(edits), **_first_rows(updated)})
            for lease in leases:
                lease.ensure_valid()

    async def _propagate_to_conclusions(
        self, incarnations: Sequence[str], facts: FactIndex, changed: Mapping[str, MemoryRow | None]
    ) -> None:
        """Revalidate conclusions of changed memories, and new conclusions, transitively."""
        ids = {conclusion_id for id_ in changed for conclusion_id in facts.conclusion_ids(id_)}
        ids |= {id_ for id_, row in changed.items() if row is not None and premises(row)}
        while ids:
            rows = _first_rows(await self._memories.get(ids))
            conclusions = [row for row in rows.values() if row is not None]
            premise_rows = _first_rows(await self._memories.get(all_premises(conclusions)))
            facts = await self._fact_lookup.version_closure(incarnations, rows)
            revalidated = {
                row.id: revalidate_conclusion(row, premise_rows, is_superseded=bool(facts.superseding_ids(row.id)))
                for row in conclusions
            }
            changed = {id_: row for id_, row in revalidated.items() if row is not rows[id_]}
            await self._memories.update(list(changed), _replace_with(changed))
            ids = {conclusion_id for id_ in changed for conclusion_id in facts.conclusion_ids(id_)}

    async def remove_documents(self, document_keys: Collection[str]) -> None:
        """Remove deleted documents as sources; memories without another source go too."""
        rows = await self._memories.find_by_documents(document_keys)
        edit = remove_sources(frozenset(document_keys))
        await self.apply({row.incarnation for row in rows}, {row.id: [edit] for row in rows})

    @asynccontextmanager
    async def _locked(self, incarnations: Iterable[str]) -> AsyncIterator[tuple[list[str], list[Lease]]]:
        """Hold the locks of all incarnations across which versions of these may run."""
        requested = set(incarnations)
        while True:
            siblings = self._sibling_incarnations(requested)
            async with AsyncExitStack() as stack:
                # One lock order everywhere prevents deadlocks.
                names = sorted({_lock_name(incarnation) for incarnation in siblings})
                leases = [await stack.enter_async_context(self._locks.acquire(name)) for name in names]
                if self._sibling_incarnations(requested) == siblings:
                    yield sorted(siblings), leases
                    return
            # The namespace's incarnations changed while waiting: lock the new set.

    def _sibling_incarnations(self, incarnations: Iterable[str]) -> set[str]:
        """Return all incarnations of the namespaces that own these."""
        owners = {incarnation: self._catalog.namespace_of(incarnation) for incarnation in incarnations}
        return {
            sibling
            for incarnation, owner in owners.items()
            for sibling in (owner.incarnations if owner is not None else (incarnation,))
        }

    async def wait_until_durable(self) -> None:
        """Wait until every change so far is on disk."""
        await self._memories.wait_until_durable()


def _with_comparison_keys(row: MemoryRow) -> MemoryRow:
    keys = comparison_keys_of(row)
    return row if keys == row.comparison_keys else replace(row, comparison_keys=keys)


def _lock_name(incarnation: str) -> str:
    return f"memories/{int.from_bytes(blake2b(incarnation.encode(), digest_size=8).digest()) % _LOCK_STRIPES}"


def _first_rows(rows_by_id: Mapping[str, Sequence[MemoryRow]]) -> dict[str, MemoryRow | None]:
    return {id_: _first_row(rows) for id_, rows in rows_by_id.items()}


def _replace_with(new_rows: Mapping[str, MemoryRow | None]) -> Callable[[str, list[MemoryRow]], Sequence[MemoryRow]]:
    def update_row(id_: str, _: list[MemoryRow]) -> Sequence[MemoryRow]:
        row = new_rows[id_]
        return [] if row is None else [row]

    return update_row


def _first_row(rows: Sequence[MemoryRow] | None) -> MemoryRow | None:
    return rows[0] if rows else None


def _apply_edits(edits: Iterable[MemoryEdit], row: MemoryRow | None) -> MemoryRow | None:
    for edit in edits:
        row = edit(row)
    return row
