"""Which facts share a slot and which replaced which, per space, in memory: a view of the memories table.

It holds only facts that have a slot or replace others, is loaded on first use, kept true by the table's
listener, and bounded: the space that was not used for longest goes first.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from pipeline.memory.conclusions import premises
from pipeline.memory.relations import Known, moment
from pipeline.memory.slots.reading import slots
from pipeline.memory.statements import stated_relations
from pipeline.ports import Memories
from pipeline.rows import MemoryRow

K = TypeVar("K")

CAPACITY = 200_000
"""Facts, at most, of spaces that are not in use."""


def known(row: MemoryRow) -> Known | None:
    """The row as the ledger holds it; None if it can neither replace nor be replaced."""
    own = slots(row.text)
    updates = tuple(one.target for one in row.relations if one.kind == "updates")
    needed = premises(row)
    if not own and not updates and not needed:
        return None
    statements = row.statements
    stated = stated_relations(row) if statements else row.relations
    return Known(
        id=row.id,
        space=row.space,
        text=row.text,
        slots=own,
        when=moment(row.date, row.updated_at),
        sources=row.sources,
        is_static=row.is_static,
        premises=needed,
        updates=updates,
        is_latest=row.is_latest,
        forgotten=row.forgotten_at is not None,
        stated=tuple(one.target for one in stated if one.kind == "updates"),
        replaced_by=tuple(dict.fromkeys(newer for one in statements for newer in one.replaced_by)),
    )


def _known(rows: Sequence[MemoryRow]) -> list[Known]:
    return [fact for row in rows if (fact := known(row)) is not None]


class Ledger:
    """One per process and memories table, subscribed on construction."""

    def __init__(self, memories: Memories, capacity: int = CAPACITY) -> None:
        self._memories = memories
        self._capacity = capacity
        self._facts: dict[str, Known] = {}
        self._spaces: OrderedDict[str, set[str]] = OrderedDict()
        self._slots: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        self._later: defaultdict[str, set[str]] = defaultdict(set)
        self._naming: defaultdict[str, set[str]] = defaultdict(set)
        self._concluded: defaultdict[str, set[str]] = defaultdict(set)
        self._loading: dict[str, set[str]] = {}
        self._lock = asyncio.Lock()
        memories.subscribe(self._changed, self._spaces.__contains__)

    async def load(self, spaces: Iterable[str]) -> None:
        """Make sure that these spaces are held, with what other processes changed too."""
        wanted = dict.fromkeys(spaces)
        await self._memories.refresh(wanted)
        async with self._lock:
            for space in wanted:
                if space in self._spaces:
                    self._spaces.move_to_end(space)
                else:
                    await self._load(space)
            self._evict(keep=wanted.keys())

    async def _load(self, space: str) -> None:
        """Read and taken apart in a thread, held some at a time: requests go on beside a large space."""
        self._spaces[space] = set()
        changed = self._loading[space] = set()
        try:
            async for rows in self._memories.outlines([space]):
                for fact in await asyncio.to_thread(_known, rows):
                    if fact.id not in changed:
                        self.put(fact)
        except BaseException:
            self._forget_space(space)
            raise
        finally:
            del self._loading[space]

    def get(self, id: str) -> Known | None:  # noqa: A002 - a memory's own word
        """A fact by its memory's id."""
        return self._facts.get(id)

    def in_slots(self, spaces: Sequence[str], keys: Iterable[tuple[str, str]]) -> list[Known]:
        """The facts of any of these slots, forgotten and replaced ones too."""
        found = {one: None for key in keys for space in spaces for one in self._slots.get((space, *key), ())}
        return [self._facts[one] for one in sorted(found)]

    def later(self, id: str) -> frozenset[str]:  # noqa: A002
        """Ids of the facts that replace this one, whether it is there or not."""
        return frozenset(self._later.get(id, ()))

    def naming(self, id: str) -> frozenset[str]:  # noqa: A002
        """Ids of the facts whose documents state that they can't be true beside this one."""
        return frozenset(self._naming.get(id, ()))

    def concluded(self, id: str) -> frozenset[str]:  # noqa: A002
        """Ids of what was concluded from this memory."""
        return frozenset(self._concluded.get(id, ()))

    def put(self, fact: Known) -> None:
        """Hold a fact; one that is not yet in the table is `pending` until the table has it."""
        self.drop(fact.id)
        members = self._spaces.get(fact.space)
        if members is None:
            return
        members.add(fact.id)
        self._facts[fact.id] = fact
        for slot in fact.slots:
            self._slots[(fact.space, *slot.key)].add(fact.id)
        for target in fact.updates:
            self._later[target].add(fact.id)
        for other in (*fact.stated, *fact.replaced_by):
            self._naming[other].add(fact.id)
        for premise in fact.premises:
            self._concluded[premise].add(fact.id)

    def drop(self, id: str) -> None:  # noqa: A002
        """Let go of a fact, if it is held."""
        fact = self._facts.pop(id, None)
        if fact is None:
            return
        self._spaces[fact.space].discard(id)
        for key in {slot.key for slot in fact.slots}:
            _discard(self._slots, (fact.space, *key), id)
        for target in fact.updates:
            _discard(self._later, target, id)
        for other in {*fact.stated, *fact.replaced_by}:
            _discard(self._naming, other, id)
        for premise in fact.premises:
            _discard(self._concluded, premise, id)

    def _changed(self, groups: Mapping[str, list[MemoryRow]]) -> None:
        for id_, rows in groups.items():
            for changed in self._loading.values():
                changed.add(id_)
            fact = known(rows[0]) if rows and rows[0].space in self._spaces else None
            if fact is None:
                self.drop(id_)
            else:
                self.put(fact)

    def _evict(self, keep: Iterable[str]) -> None:
        kept = set(keep)
        for space in list(self._spaces):
            if len(self._facts) + len(self._spaces) <= self._capacity:
                return
            if space not in kept:
                self._forget_space(space)

    def _forget_space(self, space: str) -> None:
        for id_ in list(self._spaces.get(space, ())):
            self.drop(id_)
        self._spaces.pop(space, None)


def _discard(index: dict[K, set[str]], key: K, id_: str) -> None:
    index[key].discard(id_)
    if not index[key]:
        del index[key]
