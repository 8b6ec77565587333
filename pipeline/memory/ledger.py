"""Which facts share a slot and which replaced which: looked up in the hot index, or the table, as asked.

What was formed and is not in the table yet is held here, and what was looked up lately, both bounded.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from pipeline.memory import keys
from pipeline.memory.conclusions import premises
from pipeline.memory.deriving import rules
from pipeline.memory.recent import Recent
from pipeline.memory.relations import Known, moment
from pipeline.memory.slots.reading import slots
from pipeline.memory.slots.slot import Slot
from pipeline.memory.statements import stated_relations
from pipeline.ports import KeyIndex, Memories
from pipeline.rows import MemoryRow

K = TypeVar("K")

CAPACITY = 200_000
"""Facts, at most, that are on their way to the table; what was formed longest ago goes first."""
REMEMBERED = 8192
"""Facts whose keys are kept, half a KB each: those of one slot are compared with every new one of it."""


def compared(row: MemoryRow) -> Known | None:
    """The row as a fact that others are compared with, whatever its statements say.

    None if it can neither replace nor be replaced, and has no part in conclusions.
    """
    own = slots(row.text)
    updates = tuple(one.target for one in row.relations if one.kind == "updates")
    needed = premises(row)
    if not own and not updates and not needed and not rules.held(row.text):
        return None
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
    )


def known(row: MemoryRow) -> Known | None:
    """The same with what versions depend on."""
    fact = compared(row)
    if fact is None:
        return None
    stated = stated_relations(row) if row.statements else row.relations
    return replace(
        fact,
        stated=tuple(one.target for one in stated if one.kind == "updates"),
        replaced_by=tuple(dict.fromkeys(newer for one in row.statements for newer in one.replaced_by)),
    )


def keys_of(row: MemoryRow) -> tuple[str, ...]:
    """What a memory is to be found by."""
    fact = known(row)
    if fact is None:
        return ()
    return (*keys.of(fact.slots, (*fact.stated, *fact.replaced_by), fact.premises), *_offered(fact))


class Facts:
    """Facts by id and by what they have to do with each other."""

    def __init__(self, facts: Iterable[Known] = ()) -> None:
        self._facts: dict[str, Known] = {}
        self._slots: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._later: defaultdict[str, set[str]] = defaultdict(set)
        self._naming: defaultdict[str, set[str]] = defaultdict(set)
        self._concluded: defaultdict[str, set[str]] = defaultdict(set)
        for fact in facts:
            self.put(fact)

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[Known]:
        return iter(list(self._facts.values()))

    def get(self, id: str) -> Known | None:  # noqa: A002 - a memory's own word
        """A fact by its memory's id."""
        return self._facts.get(id)

    def sharing(self, spaces: Sequence[str], some: Iterable[Slot]) -> list[Known]:
        """The facts that these slots can contradict or repeat, forgotten and replaced ones too."""
        return self.keyed(spaces, keys.sought(some))

    def keyed(self, spaces: Sequence[str], some: Iterable[str]) -> list[Known]:
        """Those that have any of these keys of slots or conclusions."""
        found = {one for key in some for space in spaces for one in self._slots.get((space, key), ())}
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
        """Hold a fact, instead of what was held of it."""
        self.drop(fact.id)
        self._facts[fact.id] = fact
        for key in places(fact):
            self._slots[fact.space, key].add(fact.id)
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
        for key in places(fact):
            _discard(self._slots, (fact.space, key), id)
        for target in fact.updates:
            _discard(self._later, target, id)
        for other in {*fact.stated, *fact.replaced_by}:
            _discard(self._naming, other, id)
        for premise in fact.premises:
            _discard(self._concluded, premise, id)


class Ledger:
    """One per process and memories table, subscribed on construction."""

    def __init__(self, memories: Memories, capacity: int = CAPACITY, looked_up: Recent | None = None) -> None:
        self._memories = memories
        self._capacity = capacity
        self._ahead = Facts()
        self._spaces = Counter[str]()
        self._recent = Recent(compared, places) if looked_up is None else looked_up
        memories.subscribe(self._changed, self._matters)

    async def sharing(
        self,
        spaces: Sequence[str],
        some: Iterable[Slot],
        also: Iterable[str] = (),
        *,
        index: KeyIndex | None = None,
    ) -> Facts:
        """The facts that these slots can contradict or repeat, with those on their way to the table.

        `also`: keys of more that is wanted. `index`: what holds the namespace; None: only the table does.
        """
        await self._memories.refresh(spaces)
        wanted = list(dict.fromkeys((*keys.sought(some), *also)))
        # What reaches the table while it is read is in one of both.
        before = self._ahead.keyed(spaces, wanted)
        facts = Facts(await self._lead_to(index or self._memories, spaces, wanted))
        for fact in (*before, *self._ahead.keyed(spaces, wanted)):
            facts.put(fact)
        return facts

    async def around(
        self,
        spaces: Sequence[str],
        there: Mapping[str, MemoryRow | None],
        becoming: Mapping[str, MemoryRow | None] | None = None,
    ) -> Facts:
        """All that versions of these memories may depend on, and what was concluded from them.

        As the table has them, to who holds the lock of these spaces. `becoming`: as they will be.
        """
        facts = Facts(_facts(known, (row for row in there.values() if row is not None)))
        then = _facts(known, (row for row in (becoming or {}).values() if row is not None))
        named = {one for fact in (*facts, *then) for one in (fact.id, *_named(fact))}
        needed, seen, asked = {*there, *named}, set[str](), set(there)
        while named or needed:
            wanted = [*map(keys.names, sorted(named)), *map(keys.needs, sorted(needed))]
            pointing = await self._memories.keyed(spaces, wanted)
            asked |= {row.id for row in pointing}
            others = await self._memories.get(named - asked)
            asked |= named
            seen |= named
            fresh = _facts(known, [*pointing, *(row for rows in others.values() for row in rows)])
            for fact in fresh:
                facts.put(fact)
            named = needed = {one for fact in fresh for one in (fact.id, *_named(fact))} - seen
        return facts

    def note(self, facts: Iterable[Known]) -> None:
        """These were formed: the table will have them so."""
        for fact in facts:
            self.drop(fact.id)
            self._ahead.put(fact)
            self._spaces[fact.space] += 1
        while len(self._ahead) > self._capacity:
            self.drop(next(iter(self._ahead)).id)

    def ahead(self, id: str) -> Known | None:  # noqa: A002 - a memory's own word
        """A fact that the table does not have so yet."""
        return self._ahead.get(id)

    def drop(self, id: str) -> None:  # noqa: A002
        """It is in the table, or never will be."""
        fact = self._ahead.get(id)
        if fact is None:
            return
        self._ahead.drop(id)
        self._spaces[fact.space] -= 1
        if not self._spaces[fact.space]:
            del self._spaces[fact.space]

    async def _lead_to(self, asked: KeyIndex, spaces: Sequence[str], wanted: Sequence[str]) -> list[Known]:
        """The facts that have any of these keys: what was not looked up lately is asked for."""
        held, missing = self._recent.find(spaces, wanted)
        if not missing:
            return held
        with self._recent.reading(spaces, missing) as read:
            rows = await asked.keyed(spaces, missing)
            read(rows)
        return [*held, *_facts(compared, rows)]

    def _matters(self, space: str) -> bool:
        return space in self._spaces or space in self._recent

    def _changed(self, groups: Mapping[str, list[MemoryRow]]) -> None:
        for id_ in groups:
            self.drop(id_)
        self._recent.changed(groups)


def places(fact: Known) -> tuple[str, ...]:
    """Keys that lead to a fact: of its slots, and as a premise."""
    return (*_held(fact.slots), *_offered(fact))


@lru_cache(maxsize=REMEMBERED)
def _held(some: tuple[Slot, ...]) -> tuple[str, ...]:
    return tuple(keys.held(some))


def _offered(fact: Known) -> tuple[str, ...]:
    """Keys as a premise; nothing is concluded from conclusions."""
    return () if fact.premises else rules.held(fact.text)


def _facts(of: Callable[[MemoryRow], Known | None], rows: Iterable[MemoryRow]) -> list[Known]:
    return [fact for row in rows if (fact := of(row)) is not None]


def _named(fact: Known) -> tuple[str, ...]:
    return (*fact.updates, *fact.stated, *fact.replaced_by)


def _discard(index: dict[K, set[str]], key: K, id_: str) -> None:
    index[key].discard(id_)
    if not index[key]:
        del index[key]
