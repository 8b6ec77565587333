"""The facts of keys that were looked up lately, kept true by what the memories table tells.

What is said in a namespace is mostly about the same few, whose facts are compared again and again.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.memory.relations import Known
from pipeline.rows import MemoryRow

CAPACITY = 20_000
"""Keys, and facts of each, at most: some twenty megabytes."""

Place = tuple[str, str]
"""A space, and a key in it."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A fact, and the keys that lead to it of those that are held."""

    fact: Known
    places: set[Place]


class Recent:
    """What each key leads to, all of it; the keys asked for longest ago go first."""

    def __init__(
        self,
        known: Callable[[MemoryRow], Known | None],
        keys: Callable[[Known], Sequence[str]],
        capacity: int = CAPACITY,
    ) -> None:
        """`keys`: what a fact is found by, where its row does not say."""
        self._known = known
        self._keys = keys
        self._capacity = capacity
        self._ids: OrderedDict[Place, set[str]] = OrderedDict()
        self._facts: dict[str, _Held] = {}
        self._spaces = Counter[str]()
        self._weight = 0
        self._changes = 0

    def __contains__(self, space: str) -> bool:
        """Whether changes of this space matter."""
        return space in self._spaces

    def find(self, spaces: Sequence[str], keys: Iterable[str]) -> tuple[list[Known], list[str]]:
        """The facts of the keys that are held for all of these spaces, and the other keys."""
        ids: dict[str, None] = {}
        missing = []
        for key in keys:
            places = [(space, key) for space in spaces]
            if not all(place in self._ids for place in places):
                missing.append(key)
                continue
            for place in places:
                self._ids.move_to_end(place)
                ids.update(dict.fromkeys(self._ids[place]))
        return [self._facts[one].fact for one in ids], missing

    @contextmanager
    def reading(
        self, spaces: Sequence[str], keys: Sequence[str]
    ) -> Iterator[Callable[[Sequence[MemoryRow]], None]]:
        """While the table is asked for these keys; what is called with the rows that it has for them.

        They are held unless a memory changed meanwhile: then nobody can say which is the newer.
        """
        changes = self._changes
        self._spaces.update(spaces)

        def read(rows: Sequence[MemoryRow]) -> None:
            if changes == self._changes:
                self._hold([(space, key) for space in spaces for key in keys], rows)

        try:
            yield read
        finally:
            self._leave(spaces)

    def changed(self, groups: Mapping[str, Sequence[MemoryRow]]) -> None:
        """Memories are now these; none: gone."""
        for id_, rows in groups.items():
            # What is gone does not say where it was.
            self._changes += not rows or rows[0].space in self._spaces
            self._forget(id_)
            for row in rows:
                places = self._among(row.space, row.keys)
                if places and (fact := self._known(row)) is not None:
                    self._note(fact, places)
        self._trim()

    def _hold(self, places: Sequence[Place], rows: Sequence[MemoryRow]) -> None:
        fresh = [place for place in places if place not in self._ids]
        self._ids.update((place, set()) for place in fresh)
        self._spaces.update(space for space, _ in fresh)
        self._weight += len(fresh)
        for row in rows:
            self._forget(row.id)
            if (fact := self._known(row)) is not None:
                self._note(fact, self._among(row.space, row.keys or self._keys(fact)))
        self._trim()

    def _note(self, fact: Known, places: set[Place]) -> None:
        if not places:
            return
        self._facts[fact.id] = _Held(fact, places)
        for place in places:
            self._ids[place].add(fact.id)
        self._weight += len(places)

    def _among(self, space: str, keys: Iterable[str]) -> set[Place]:
        """The places that are held, of these keys."""
        return {place for key in keys if (place := (space, key)) in self._ids}

    def _forget(self, id_: str) -> None:
        held = self._facts.pop(id_, None)
        if held is None:
            return
        for place in held.places:
            self._ids[place].discard(id_)
        self._weight -= len(held.places)

    def _trim(self) -> None:
        while self._weight > self._capacity:
            place, ids = self._ids.popitem(last=False)
            self._weight -= 1 + len(ids)
            for one in ids:
                held = self._facts[one]
                held.places.discard(place)
                if not held.places:
                    del self._facts[one]
            self._leave([place[0]])

    def _leave(self, spaces: Iterable[str]) -> None:
        for space in spaces:
            self._spaces[space] -= 1
            if not self._spaces[space]:
                del self._spaces[space]
