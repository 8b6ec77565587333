"""LRU cache of facts by comparison key, kept current by changes of the memories table.

Most documents of a namespace mention the same few people and things, whose facts are compared again and
again.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.memory.versioning.fact_comparison import FactRecord
from pipeline.rows import MemoryRow

MAX_ENTRIES = 30_000
"""Cached keys plus facts listed under them: about 30 MB."""

CacheKey = tuple[str, str]
"""An incarnation and a comparison key in it."""


@dataclass(frozen=True, slots=True)
class _CachedFact:
    """A fact and the cached keys that list it."""

    fact: FactRecord
    cache_keys: set[CacheKey]


class FactCache:
    """The complete set of facts for each cached key; the least recently used keys are evicted."""

    def __init__(
        self,
        to_fact: Callable[[MemoryRow], FactRecord | None],
        keys_of_fact: Callable[[FactRecord], Sequence[str]],
        capacity: int = MAX_ENTRIES,
    ) -> None:
        """`keys_of_fact` supplies the keys of a row that stores none."""
        self._to_fact = to_fact
        self._keys_of_fact = keys_of_fact
        self._capacity = capacity
        self._ids: OrderedDict[CacheKey, set[str]] = OrderedDict()
        self._facts: dict[str, _CachedFact] = {}
        self._active_incarnations = Counter[str]()
        self._size = 0
        self._change_count = 0

    def __contains__(self, incarnation: str) -> bool:
        """Return whether changes of this incarnation must be reported to the cache."""
        return incarnation in self._active_incarnations

    def get(self, incarnations: Sequence[str], keys: Iterable[str]) -> tuple[list[FactRecord], list[str]]:
        """Return the facts of keys cached for all of these incarnations, and the keys that are missing."""
        ids: dict[str, None] = {}
        missing = []
        for key in keys:
            cache_keys = [(incarnation, key) for incarnation in incarnations]
            if not all(cache_key in self._ids for cache_key in cache_keys):
                missing.append(key)
                continue
            for cache_key in cache_keys:
                self._ids.move_to_end(cache_key)
                ids.update(dict.fromkeys(self._ids[cache_key]))
        return [self._facts[id_].fact for id_ in ids], missing

    @contextmanager
    def filling(
        self, incarnations: Sequence[str], keys: Sequence[str]
    ) -> Iterator[Callable[[Sequence[MemoryRow]], None]]:
        """Context of a table lookup for these keys; yields a callback that caches the rows found.

        Nothing is cached if a memory changed during the lookup, because the rows may then be stale.
        """
        changes = self._change_count
        self._active_incarnations.update(incarnations)

        def insert_rows(rows: Sequence[MemoryRow]) -> None:
            if changes == self._change_count:
                self._insert([(incarnation, key) for incarnation in incarnations for key in keys], rows)

        try:
            yield insert_rows
        finally:
            self._release(incarnations)

    def on_change(self, rows_by_id: Mapping[str, Sequence[MemoryRow]]) -> None:
        """Apply changed rows by memory id; an empty list means that the memory was deleted."""
        for id_, rows in rows_by_id.items():
            # A deletion carries no incarnation, so it counts as a change of every incarnation.
            self._change_count += not rows or rows[0].incarnation in self._active_incarnations
            self._remove(id_)
            for row in rows:
                cache_keys = self._cached_keys(row.incarnation, row.comparison_keys)
                if cache_keys and (fact := self._to_fact(row)) is not None:
                    self._add(fact, cache_keys)
        self._evict()

    def _insert(self, cache_keys: Sequence[CacheKey], rows: Sequence[MemoryRow]) -> None:
        fresh = [cache_key for cache_key in cache_keys if cache_key not in self._ids]
        self._ids.update((cache_key, set()) for cache_key in fresh)
        self._active_incarnations.update(incarnation for incarnation, _ in fresh)
        self._size += len(fresh)
        for row in rows:
            self._remove(row.id)
            if (fact := self._to_fact(row)) is not None:
                self._add(fact, self._cached_keys(row.incarnation, row.comparison_keys or self._keys_of_fact(fact)))
        self._evict()

    def _add(self, fact: FactRecord, cache_keys: set[CacheKey]) -> None:
        if not cache_keys:
            return
        self._facts[fact.id] = _CachedFact(fact, cache_keys)
        for cache_key in cache_keys:
            self._ids[cache_key].add(fact.id)
        self._size += len(cache_keys)

    def _cached_keys(self, incarnation: str, keys: Iterable[str]) -> set[CacheKey]:
        """Return those of these keys that are cached."""
        return {cache_key for key in keys if (cache_key := (incarnation, key)) in self._ids}

    def _remove(self, id_: str) -> None:
        cached = self._facts.pop(id_, None)
        if cached is None:
            return
        for cache_key in cached.cache_keys:
            self._ids[cache_key].discard(id_)
        self._size -= len(cached.cache_keys)

    def _evict(self) -> None:
        while self._size > self._capacity:
            cache_key, ids = self._ids.popitem(last=False)
            self._size -= 1 + len(ids)
            for id_ in ids:
                cached = self._facts[id_]
                cached.cache_keys.discard(cache_key)
                if not cached.cache_keys:
                    del self._facts[id_]
            self._release([cache_key[0]])

    def _release(self, incarnations: Iterable[str]) -> None:
        for incarnation in incarnations:
            self._active_incarnations[incarnation] -= 1
            if not self._active_incarnations[incarnation]:
                del self._active_incarnations[incarnation]
