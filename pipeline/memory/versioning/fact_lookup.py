"""Lookup of facts that share attributes or replace each other, in the namespace index or the memories
table.

Holds formed facts that have not reached the table yet, and a cache of recent lookups, both bounded.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from pipeline.memory.attributes.attribute import Attribute
from pipeline.memory.attributes.attribute_extraction import comparable_attributes
from pipeline.memory.inference import inference_rules
from pipeline.memory.versioning import comparison_keys
from pipeline.memory.versioning.fact_cache import FactCache
from pipeline.memory.versioning.fact_comparison import FactRecord, parse_valid_time
from pipeline.memory.versioning.provenance import DECIDED_REASON, stated_relations
from pipeline.memory.versioning.truth_maintenance import premises
from pipeline.ports import MemoryKeyIndex, MemoryTable
from pipeline.rows import MemoryRow

K = TypeVar("K")

MAX_PENDING_FACTS = 200_000
"""Facts on their way to the table; beyond this the oldest are dropped."""
KEY_CACHE_SIZE = 8192
"""Facts whose keys are cached (about 0.5 KB each)."""


def to_comparable(row: MemoryRow) -> FactRecord | None:
    """Convert a row to a fact for comparison, without its provenance.

    None if it can neither replace, be replaced, nor take part in an inference. A conclusion has no attributes: it
    holds as long as its premises do, whatever order they arrived in.
    """
    premise_ids = premises(row)
    attributes = () if premise_ids else comparable_attributes(row.text)
    updates = tuple(relation.target for relation in row.relations if relation.kind == "updates")
    if not attributes and not updates and not premise_ids and not inference_rules.premise_keys(row.text):
        return None
    return FactRecord(
        id=row.id,
        incarnation=row.incarnation,
        text=row.text,
        attributes=attributes,
        valid_time=parse_valid_time(row.date, row.updated_at),
        sources=row.sources,
        is_static=row.is_static,
        premises=premise_ids,
        updates=updates,
        is_latest=row.is_latest,
        is_forgotten=row.forgotten_at is not None,
    )


def to_fact_record(row: MemoryRow) -> FactRecord | None:
    """Convert a row to a fact including what versions depend on: stated updates and successors."""
    fact = to_comparable(row)
    if fact is None:
        return None
    relations = stated_relations(row) if row.provenance else row.relations
    return replace(
        fact,
        stated_updates=tuple(relation.target for relation in relations if relation.kind == "updates"),
        replaced_by=tuple(dict.fromkeys(successor for entry in row.provenance for successor in entry.superseded_by)),
        true_beside=tuple(
            relation.target
            for relation in relations
            if relation.kind == "extends" and relation.reason == DECIDED_REASON
        ),
    )


def comparison_keys_of(row: MemoryRow) -> tuple[str, ...]:
    """Return the keys under which a memory is stored."""
    fact = to_fact_record(row)
    if fact is None:
        return ()
    return (
        *comparison_keys.all_keys(fact.attributes, (*fact.stated_updates, *fact.replaced_by), fact.premises),
        *_premise_keys(fact),
    )


class FactIndex:
    """Facts by id, by comparison key, and by the facts they supersede, conflict with or derive from."""

    def __init__(self, facts: Iterable[FactRecord] = ()) -> None:
        self._to_facts: dict[str, FactRecord] = {}
        self._ids_by_key: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._superseded_by: defaultdict[str, set[str]] = defaultdict(set)
        self._conflicting_with: defaultdict[str, set[str]] = defaultdict(set)
        self._conclusions_of: defaultdict[str, set[str]] = defaultdict(set)
        for fact in facts:
            self.put(fact)

    def __len__(self) -> int:
        return len(self._to_facts)

    def __iter__(self) -> Iterator[FactRecord]:
        return iter(list(self._to_facts.values()))

    def get(self, id: str) -> FactRecord | None:  # noqa: A002 - a memory's own word
        return self._to_facts.get(id)

    def candidates_for(self, incarnations: Sequence[str], attributes: Iterable[Attribute]) -> list[FactRecord]:
        """Return facts that these attributes may contradict or repeat, including forgotten and superseded
        ones.
        """
        return self.with_keys(incarnations, comparison_keys.lookup_keys(attributes))

    def with_keys(self, incarnations: Sequence[str], keys: Iterable[str]) -> list[FactRecord]:
        """Return the facts with any of these comparison or premise keys."""
        ids = {
            id_ for key in keys for incarnation in incarnations for id_ in self._ids_by_key.get((incarnation, key), ())
        }
        return [self._to_facts[id_] for id_ in sorted(ids)]

    def superseding_ids(self, id: str) -> frozenset[str]:  # noqa: A002
        """Return the ids of facts that replace this one, even if it does not exist."""
        return frozenset(self._superseded_by.get(id, ()))

    def conflicting_ids(self, id: str) -> frozenset[str]:  # noqa: A002
        """Return the ids of facts stated to be incompatible with this one."""
        return frozenset(self._conflicting_with.get(id, ()))

    def conclusion_ids(self, id: str) -> frozenset[str]:  # noqa: A002
        """Return the ids of conclusions drawn from this memory."""
        return frozenset(self._conclusions_of.get(id, ()))

    def put(self, fact: FactRecord) -> None:
        """Insert or replace a fact."""
        self.remove(fact.id)
        self._to_facts[fact.id] = fact
        for key in fact_keys(fact):
            self._ids_by_key[fact.incarnation, key].add(fact.id)
        for target in fact.updates:
            self._superseded_by[target].add(fact.id)
        for other in (*fact.stated_updates, *fact.replaced_by):
            self._conflicting_with[other].add(fact.id)
        for premise in fact.premises:
            self._conclusions_of[premise].add(fact.id)

    def remove(self, id: str) -> None:  # noqa: A002
        """Remove a fact, if present."""
        fact = self._to_facts.pop(id, None)
        if fact is None:
            return
        for key in fact_keys(fact):
            _discard_id(self._ids_by_key, (fact.incarnation, key), id)
        for target in fact.updates:
            _discard_id(self._superseded_by, target, id)
        for other in {*fact.stated_updates, *fact.replaced_by}:
            _discard_id(self._conflicting_with, other, id)
        for premise in fact.premises:
            _discard_id(self._conclusions_of, premise, id)


class FactLookup:
    """Lookup of facts: an instance per process and memories table; subscribes to it on construction."""

    def __init__(
        self, memories: MemoryTable, capacity: int = MAX_PENDING_FACTS, cache: FactCache | None = None
    ) -> None:
        self._memories = memories
        self._capacity = capacity
        self._pending = FactIndex()
        self._pending_by_incarnation = Counter[str]()
        self._cache = FactCache(to_comparable, fact_keys) if cache is None else cache
        memories.subscribe(self._on_change, self._is_relevant)

    async def candidates_for(
        self,
        incarnations: Sequence[str],
        attributes: Iterable[Attribute],
        extra_keys: Iterable[str] = (),
        *,
        index: MemoryKeyIndex | None = None,
    ) -> FactIndex:
        """Return the facts that these attributes may contradict or repeat, pending ones included.

        `extra_keys`: further keys to look up. `index`: holds the namespace; None reads the table.
        """
        await self._memories.refresh(incarnations)
        keys = list(dict.fromkeys((*comparison_keys.lookup_keys(attributes), *extra_keys)))
        # Read pending facts before and after: one that reaches the table in between must not be missed.
        pending = self._pending.with_keys(incarnations, keys)
        facts = FactIndex(await self._find_by_keys(index or self._memories, incarnations, keys))
        for fact in (*pending, *self._pending.with_keys(incarnations, keys)):
            facts.put(fact)
        return facts

    async def version_closure(
        self,
        incarnations: Sequence[str],
        current: Mapping[str, MemoryRow | None],
        planned: Mapping[str, MemoryRow | None] | None = None,
    ) -> FactIndex:
        """Return all facts on which the versions of these memories may depend, with their conclusions.

        The caller holds the locks of these incarnations. `planned`: the rows as they will be.
        """
        facts = FactIndex(_to_facts(to_fact_record, (row for row in current.values() if row is not None)))
        planned_facts = _to_facts(to_fact_record, (row for row in (planned or {}).values() if row is not None))
        unseen = {id_ for fact in (*facts, *planned_facts) for id_ in (fact.id, *_referenced_ids(fact))}
        premises_to_check, seen, fetched = {*current, *unseen}, set[str](), set(current)
        while unseen or premises_to_check:
            keys = [
                *map(comparison_keys.conflict_key, sorted(unseen)),
                *map(comparison_keys.premise_key, sorted(premises_to_check)),
            ]
            referring_rows = await self._memories.find_by_keys(incarnations, keys)
            fetched |= {row.id for row in referring_rows}
            referred_rows = await self._memories.get(unseen - fetched)
            fetched |= unseen
            seen |= unseen
            fresh = _to_facts(
                to_fact_record, [*referring_rows, *(row for rows in referred_rows.values() for row in rows)]
            )
            for fact in fresh:
                facts.put(fact)
            unseen = premises_to_check = {id_ for fact in fresh for id_ in (fact.id, *_referenced_ids(fact))} - seen
        return facts

    def add_pending(self, facts: Iterable[FactRecord]) -> None:
        """Record formed facts until they reach the table."""
        for fact in facts:
            self.remove_pending(fact.id)
            self._pending.put(fact)
            self._pending_by_incarnation[fact.incarnation] += 1
        while len(self._pending) > self._capacity:
            self.remove_pending(next(iter(self._pending)).id)

    def pending_fact(self, id: str) -> FactRecord | None:  # noqa: A002 - a memory's own word
        """Return a fact that has not reached the table yet."""
        return self._pending.get(id)

    def remove_pending(self, id: str) -> None:  # noqa: A002
        """Drop a pending fact: it reached the table, or never will."""
        fact = self._pending.get(id)
        if fact is None:
            return
        self._pending.remove(id)
        self._pending_by_incarnation[fact.incarnation] -= 1
        if not self._pending_by_incarnation[fact.incarnation]:
            del self._pending_by_incarnation[fact.incarnation]

    async def _find_by_keys(
        self, index: MemoryKeyIndex, incarnations: Sequence[str], keys: Sequence[str]
    ) -> list[FactRecord]:
        """Return the facts with any of these keys, from the cache or the index."""
        cached, missing = self._cache.get(incarnations, keys)
        if not missing:
            return cached
        with self._cache.filling(incarnations, missing) as insert_rows:
            rows = await index.find_by_keys(incarnations, missing)
            insert_rows(rows)
        return [*cached, *_to_facts(to_comparable, rows)]

    def _is_relevant(self, incarnation: str) -> bool:
        return incarnation in self._pending_by_incarnation or incarnation in self._cache

    def _on_change(self, rows_by_id: Mapping[str, list[MemoryRow]]) -> None:
        for id_ in rows_by_id:
            self.remove_pending(id_)
        self._cache.on_change(rows_by_id)


def fact_keys(fact: FactRecord) -> tuple[str, ...]:
    """Return the keys that lead to a fact, by its attributes and as a premise."""
    return (*_attribute_keys(fact.attributes), *_premise_keys(fact))


@lru_cache(maxsize=KEY_CACHE_SIZE)
def _attribute_keys(attributes: tuple[Attribute, ...]) -> tuple[str, ...]:
    return tuple(comparison_keys.index_keys(attributes))


def _premise_keys(fact: FactRecord) -> tuple[str, ...]:
    """Return the keys of a fact as a premise; conclusions are never premises."""
    return () if fact.premises else inference_rules.premise_keys(fact.text)


def _to_facts(convert: Callable[[MemoryRow], FactRecord | None], rows: Iterable[MemoryRow]) -> list[FactRecord]:
    return [fact for row in rows if (fact := convert(row)) is not None]


def _referenced_ids(fact: FactRecord) -> tuple[str, ...]:
    return (*fact.updates, *fact.stated_updates, *fact.replaced_by)


def _discard_id(index: dict[K, set[str]], key: K, id_: str) -> None:
    index[key].discard(id_)
    if not index[key]:
        del index[key]
