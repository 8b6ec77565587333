"""Cache of a secondary index: the entries of recently added or read keys, for a table with a single writer.

A table that other processes write is not cached: `SecondaryIndexCache(NoKeyFilter(), capacity=0)`.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from pipeline.store.lancedb.key_filter import KeyFilter, NoKeyFilter

CAPACITY = 10_000
"""Maximum number of keys and targets together: about three megabytes."""

IndexPair = tuple[int, str]
"""A hashed secondary key and an entity key that it may lead to."""


class SecondaryIndexCache:
    """Complete target sets of the cached keys; the key filter tells keys that never had an entry.

    A surplus target is harmless, a missing one is not: see `pipeline.store.lancedb.secondary_index`.
    """

    def __init__(self, key_filter: KeyFilter[int] | NoKeyFilter[int], capacity: int = CAPACITY) -> None:
        self._key_filter = key_filter
        self._capacity = capacity
        self._targets: OrderedDict[int, set[str]] = OrderedDict()
        self._entry_count = 0
        self._change_count = 0

    def __contains__(self, pair: IndexPair) -> bool:
        """True if the table surely has this entry."""
        return pair[1] in self._targets.get(pair[0], ())

    def lookup(self, keys: Iterable[int]) -> tuple[set[IndexPair], list[int]]:
        """Return the entries of cached keys, and the keys that must be read from the table."""
        pairs: set[IndexPair] = set()
        missing: list[int] = []
        for key in self._key_filter.may_contain(keys):
            if (targets := self._targets.get(key)) is None:
                missing.append(key)
                continue
            self._targets.move_to_end(key)
            pairs.update((key, target) for target in targets)
        return pairs, missing

    @contextmanager
    def caching_read(self, keys: Collection[int]) -> Iterator[Callable[[Iterable[IndexPair]], None]]:
        """Guard a read of these keys from the table; yields the function that takes its result.

        The result is cached unless a change began or ended meanwhile, as it might be stale then.
        """
        changes = self._change_count

        def read(pairs: Iterable[IndexPair]) -> None:
            if changes == self._change_count:
                self._store(keys, pairs)

        yield read

    @contextmanager
    def during_add(self, pairs: Collection[IndexPair]) -> Iterator[None]:
        """Guard the insertion of these entries by the only writer."""
        keys = {key for key, _ in pairs}
        new = keys - {*self._key_filter.may_contain(keys)}
        # Added before the write, which may take effect although it fails.
        self._key_filter.add(new)
        with self._invalidating(keys) as done:
            yield
            done()
        self._store(new, pairs)

    @contextmanager
    def during_remove(self, pairs: Collection[IndexPair]) -> Iterator[None]:
        """Guard the removal of these entries by the only writer."""
        with self._invalidating({key for key, _ in pairs}):
            yield

    @contextmanager
    def during_clear(self) -> Iterator[None]:
        """Guard the removal of arbitrary entries."""
        try:
            yield
        finally:
            self._change_count += 1
            self._targets.clear()
            self._entry_count = 0

    @contextmanager
    def _invalidating(self, keys: Iterable[int]) -> Iterator[Callable[[], None]]:
        """Drop the cached entries of these keys afterwards, unless the yielded function was called."""
        invalid_keys = set(keys)
        self._change_count += 1
        try:
            yield invalid_keys.clear
        finally:
            self._change_count += 1
            for key in invalid_keys & self._targets.keys():
                self._entry_count -= 1 + len(self._targets.pop(key))

    def _store(self, keys: Iterable[int], pairs: Iterable[IndexPair]) -> None:
        """Cache these keys, of which `pairs` has every entry, and add `pairs` to other cached keys."""
        for key in keys:
            if key not in self._targets:
                self._targets[key] = set()
                self._entry_count += 1
        for key, target in pairs:
            if (targets := self._targets.get(key)) is not None and target not in targets:
                targets.add(target)
                self._entry_count += 1
        while self._entry_count > self._capacity:
            _, targets = self._targets.popitem(last=False)
            self._entry_count -= 1 + len(targets)
