"""The links of keys that were added or asked for lately, of a table that nobody else changes.

Of one that others change as well nothing is held: `RecentLinks(AnyKeys(), capacity=0)`.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from pipeline.store.keyset import AnyKeys, KeySet

CAPACITY = 10_000
"""Keys, and targets of each, at most: some three megabytes."""

Pair = tuple[int, str]
"""A key, and a group that it may lead to."""


class RecentLinks:
    """All targets of each key that is held; of a key that never had a link it is known that there are none.

    A target too many is no harm, one too few would be: see `pipeline.store.links`.
    """

    def __init__(self, known: KeySet[int] | AnyKeys[int], capacity: int = CAPACITY) -> None:
        self._known = known
        self._capacity = capacity
        self._targets: OrderedDict[int, set[str]] = OrderedDict()
        self._weight = 0
        self._changes = 0

    def __contains__(self, pair: Pair) -> bool:
        """Whether the table surely has it."""
        return pair[1] in self._targets.get(pair[0], ())

    def find(self, keys: Iterable[int]) -> tuple[set[Pair], list[int]]:
        """What the keys that are held lead to, and the keys of which only the table can tell."""
        pairs: set[Pair] = set()
        missing: list[int] = []
        for key in self._known.known(keys):
            if (targets := self._targets.get(key)) is None:
                missing.append(key)
                continue
            self._targets.move_to_end(key)
            pairs.update((key, target) for target in targets)
        return pairs, missing

    @contextmanager
    def reading(self, keys: Collection[int]) -> Iterator[Callable[[Iterable[Pair]], None]]:
        """While the table is asked for these keys; what is called with all that it has for them.

        It is held unless a change began or ended meanwhile: then nobody can say whether it is true.
        """
        changes = self._changes

        def read(pairs: Iterable[Pair]) -> None:
            if changes == self._changes:
                self._hold(keys, pairs)

        yield read

    @contextmanager
    def adding(self, pairs: Collection[Pair]) -> Iterator[None]:
        """While these come to the table, which nobody else changes meanwhile."""
        keys = {key for key, _ in pairs}
        new = keys - {*self._known.known(keys)}
        # From before on, for they may come though it fails.
        self._known.add(new)
        with self._changing(keys) as done:
            yield
            done()
        self._hold(new, pairs)

    @contextmanager
    def removing(self, pairs: Collection[Pair]) -> Iterator[None]:
        """While these leave the table, which nobody else changes meanwhile."""
        with self._changing({key for key, _ in pairs}):
            yield

    @contextmanager
    def clearing(self) -> Iterator[None]:
        """While any may leave the table."""
        try:
            yield
        finally:
            self._changes += 1
            self._targets.clear()
            self._weight = 0

    @contextmanager
    def _changing(self, keys: Iterable[int]) -> Iterator[Callable[[], None]]:
        """What is held of these keys is forgotten afterwards, unless it is said that nothing left."""
        doubtful = set(keys)
        self._changes += 1
        try:
            yield doubtful.clear
        finally:
            self._changes += 1
            for key in doubtful & self._targets.keys():
                self._weight -= 1 + len(self._targets.pop(key))

    def _hold(self, keys: Iterable[int], pairs: Iterable[Pair]) -> None:
        """Hold these keys. The pairs are all that the table has of them, and news of others that are held."""
        for key in keys:
            if key not in self._targets:
                self._targets[key] = set()
                self._weight += 1
        for key, target in pairs:
            if (targets := self._targets.get(key)) is not None and target not in targets:
                targets.add(target)
                self._weight += 1
        while self._weight > self._capacity:
            _, targets = self._targets.popitem(last=False)
            self._weight -= 1 + len(targets)
