"""The one way in which memories change: edits together with what they mean for versions, in one update."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from hashlib import blake2b

from pipeline.locks import LocalLocks
from pipeline.memory.conclusions import all_premises, concluded, premises
from pipeline.memory.ledger import Ledger, known
from pipeline.memory.relations import Known, replaced, update
from pipeline.memory.statements import Edit, stated_relations, without
from pipeline.memory.versions import Node, Standing, family, standings
from pipeline.ports import Catalog, Hold, Locks, Memories
from pipeline.rows import MemoryRow
from schemas.events import Relation

LATER = "it speaks of a later time"
"""Where neither text says any more what they share."""
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
            changed = [*edits, *(one for one in settled if one not in edits)]
            after = await self._memories.update(changed, apply)
            await self._conclude(together, {**dict.fromkeys(edits), **_each_first(after)})
            for hold in holds:
                hold.check()

    async def _conclude(self, together: set[str], changed: Mapping[str, MemoryRow | None]) -> None:
        """What follows from memories that changed, or is itself new, holds as far as they do; and so on."""
        while changed:
            await self._ledger.load(together)
            ids = {one for id_ in changed for one in self._ledger.concluded(id_)}
            ids |= {id_ for id_, row in changed.items() if row is not None and premises(row)}
            if not ids:
                return
            rows = _each_first(await self._memories.get(ids))
            there = [row for row in rows.values() if row is not None]
            around = _each_first(await self._memories.get(all_premises(there)))
            await self._ledger.load(together)
            after = {
                row.id: concluded(row, around, replaced=bool(self._ledger.later(row.id))) for row in there
            }
            changed = {id_: row for id_, row in after.items() if row is not rows[id_]}
            await self._memories.update(list(changed), lambda one, _, after=after: _listed(after[one]))  # type: ignore[misc]  # bound per round

    async def withdraw(self, documents: Collection[str]) -> None:
        """Documents are gone: so are the memories that only they supported."""
        rows = await self._memories.of_documents(documents)
        gone = without(frozenset(documents))
        await self.change({row.space for row in rows}, {row.id: [gone] for row in rows})

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
        plan = _Plan(self._ledger, {one: _known(row) for one, row in planned.items()})
        members = family(plan.seeds(), plan.node, plan.connected)
        found = standings({one: here for one in members if (here := plan.node(one)) is not None})
        return {one: replace(standing, updates=plan.relations(one)) for one, standing in found.items()}


class _Plan:
    """The facts as they will be: those that change, and of the others what the ledger holds."""

    def __init__(self, ledger: Ledger, facts: Mapping[str, Known | None]) -> None:
        self._ledger = ledger
        self._facts = facts
        self._pointing: dict[str, set[str]] = {}
        for fact in facts.values():
            for target in (*fact.stated, *fact.replaced_by) if fact is not None else ():
                self._pointing.setdefault(target, set()).add(fact.id if fact is not None else "")

    def seeds(self) -> list[str]:
        """The changed facts that versions may depend on."""
        return [one for one in self._facts if self.connected(one)]

    def node(self, one: str) -> Node | None:
        fact = self._fact(one)
        return None if fact is None else Node(fact.when, self._updates(fact))

    def relations(self, one: str) -> tuple[Relation, ...]:
        """What this fact updates, with the reason as if it had been formed after those."""
        fact = self._fact(one)
        return tuple(self._update(one, target) for target in self._updates(fact)) if fact else ()

    def _updates(self, fact: Known) -> tuple[str, ...]:
        """Of the facts that can't be true beside this one, those it replaces; and those that are gone."""
        there = {target for target in self._named(fact.id) if self._beats(fact, self._fact(target))}
        gone = {target for target in fact.stated if self._fact(target) is None}
        return tuple(sorted(there | gone))

    def _beats(self, fact: Known, other: Known | None) -> bool:
        """What speaks of the later time replaces the other; of one time, what was said to."""
        if other is None or other.id == fact.id:
            return False
        said = other.id in fact.stated or fact.id in other.replaced_by
        answered = fact.id in other.stated or other.id in fact.replaced_by
        if not (said or answered):
            return False
        if fact.when != other.when:
            return fact.when > other.when
        return said if said != answered else fact.id > other.id

    def _named(self, one: str) -> set[str]:
        """Facts of which either says that the two can't both be true."""
        fact = self._fact(one)
        own = (*fact.stated, *fact.replaced_by) if fact is not None else ()
        return {*own, *self._pointing.get(one, ()), *self._ledger.naming(one)}

    def _update(self, one: str, target: str) -> Relation:
        new, old = self._fact(one), self._fact(target)
        found = replaced(new.slots, old.slots) if new is not None and old is not None else None
        return update(target, found) if found else Relation(kind="updates", target=target, why=LATER)

    def connected(self, one: str) -> set[str]:
        before = self._ledger.get(one)
        named = (*before.updates, *before.stated, *before.replaced_by) if before is not None else ()
        return {*self._named(one), *self._ledger.later(one), *named}

    def _fact(self, one: str) -> Known | None:
        fact = self._facts[one] if one in self._facts else self._ledger.get(one)
        return fact if fact is not None and fact.pending is None else None


def _known(row: MemoryRow | None) -> Known | None:
    return None if row is None else known(row)


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


def _standing(row: MemoryRow | None, standing: Standing | None) -> MemoryRow | None:
    if row is None:
        return None
    version = standing.version if standing is not None else 1
    latest = row.forgotten_at is None and not (standing is not None and standing.replaced)
    relations = _relations(row, standing)
    if (version, latest, relations) == (row.version, row.is_latest, row.relations):
        return row
    return replace(row, version=version, is_latest=latest, relations=relations)


def _relations(row: MemoryRow, standing: Standing | None) -> tuple[Relation, ...]:
    """What was stated, as far as the times of facts have not turned it, and what follows from them."""
    if standing is None or not row.statements:
        return row.relations
    held = {one.target for one in standing.updates}
    own = tuple(one for one in stated_relations(row) if one.kind != "updates" or one.target in held)
    stated = {one.target for one in own if one.kind == "updates"}
    return (*own, *(one for one in standing.updates if one.target not in stated))
