"""The newest state of groups that LanceDB does not hold yet, and of some it got a moment ago."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, eq=False)
class Change(Generic[Row]):
    """The rows of a group from change `number` on; none means the group is gone."""

    rows: tuple[Row, ...]
    shard: int
    number: int


class Overlay(Generic[Row]):
    """Unflushed changes by group. A change stays until it is in the base and nothing newer came.

    Every method is synchronous: between two awaits a caller sees one state.
    """

    def __init__(self, shards: int, weight: Callable[[Row], int], recent_bytes: int) -> None:
        self.number = 0
        self._changes: dict[str, Change[Row]] = {}
        self._waiting: list[dict[str, Change[Row]]] = [{} for _ in range(shards)]
        self._unkept: list[dict[str, Change[Row]]] = [{} for _ in range(shards)]
        self._weight = weight
        self._weights = [0] * shards
        self._recent = _Recent(weight, recent_bytes)
        self._watches: list[set[str]] = []

    def rows(self, group: str) -> tuple[Row, ...] | None:
        """The newest rows of a group, or None when only the base can tell."""
        change = self._changes.get(group)
        return change.rows if change is not None else self._recent.get(group)

    def snapshot(self) -> Mapping[str, Change[Row]]:
        """All unflushed changes now. Read the base after taking it: what it lacks is in the base by then."""
        return dict(self._changes)

    def put(self, group: str, rows: tuple[Row, ...], shard: int) -> None:
        """Replace the rows of a group."""
        self.number += 1
        change = Change(rows, shard, self.number)
        self._changes[group] = change
        self._waiting[shard][group] = change
        self._unkept[shard][group] = change
        self._weights[shard] += sum(map(self._weight, rows))
        self._recent.forget(group)

    def waiting(self, shard: int) -> int:
        """How many groups a flush would take."""
        return len(self._waiting[shard])

    def weight(self, shard: int) -> int:
        """How many bytes were put since the last flush, roughly."""
        return self._weights[shard]

    def all_kept(self, shard: int) -> bool:
        """Whether everything is on disk somewhere, or being written ahead."""
        return not self._unkept[shard]

    def unkept(self, shard: int) -> dict[str, Change[Row]]:
        """All changes that are nowhere on disk, to be written ahead of a flush."""
        taken, self._unkept[shard] = self._unkept[shard], {}
        return taken

    def not_kept(self, shard: int, taken: Mapping[str, Change[Row]]) -> None:
        """These could not be written ahead: they are nowhere on disk, unless they reached the base."""
        for group, change in taken.items():
            if self._changes.get(group) is change:
                self._unkept[shard].setdefault(group, change)

    def take(self, shard: int) -> dict[str, Change[Row]]:
        """All changes that wait to be flushed; they stay visible until settled."""
        taken, self._waiting[shard] = self._waiting[shard], {}
        self._weights[shard] = 0
        return taken

    def settle(self, taken: Mapping[str, Change[Row]]) -> None:
        """These changes are in the base: drop those that nothing newer replaced."""
        for group, change in taken.items():
            if self._changes.get(group) is change:
                del self._changes[group]
                self._unkept[change.shard].pop(group, None)
                self._recent.put(group, change.rows)
                for watch in self._watches:
                    watch.add(group)

    def restore(self, shard: int, taken: Mapping[str, Change[Row]]) -> None:
        """These changes did not reach the base: let them wait again unless something newer does."""
        for group, change in taken.items():
            if self._changes.get(group) is change:
                self._waiting[shard].setdefault(group, change)

    def remember(self, group: str, rows: tuple[Row, ...]) -> None:
        """The rows of a group as the base has them now: who reads it may change it next."""
        if rows and self.rows(group) is None:
            self._recent.put(group, rows)

    def forget_recent(self) -> None:
        """Trust only the base for what is flushed; readers under way look again."""
        for watch in self._watches:
            watch.update(self._recent.groups())
        self._recent.clear()

    @contextmanager
    def watch(self) -> Iterator[set[str]]:
        """A set that collects every group settled meanwhile: what was read of them from the base is old."""
        moved: set[str] = set()
        self._watches.append(moved)
        try:
            yield moved
        finally:
            # By identity: two watches with equal contents are still two watches.
            self._watches = [watch for watch in self._watches if watch is not moved]


class _Recent(Generic[Row]):
    """Groups flushed or read a moment ago, since whoever is next asks for them at once. Bounded in bytes."""

    def __init__(self, weight: Callable[[Row], int], limit: int) -> None:
        self._weight = weight
        self._limit = limit
        self._groups: OrderedDict[str, tuple[Row, ...]] = OrderedDict()
        self._bytes = 0

    def get(self, group: str) -> tuple[Row, ...] | None:
        return self._groups.get(group)

    def groups(self) -> list[str]:
        return list(self._groups)

    def put(self, group: str, rows: tuple[Row, ...]) -> None:
        self.forget(group)
        self._groups[group] = rows
        self._bytes += self._size(rows)
        while self._bytes > self._limit:
            _, oldest = self._groups.popitem(last=False)
            self._bytes -= self._size(oldest)

    def forget(self, group: str) -> None:
        if (rows := self._groups.pop(group, None)) is not None:
            self._bytes -= self._size(rows)

    def clear(self) -> None:
        self._groups.clear()
        self._bytes = 0

    def _size(self, rows: tuple[Row, ...]) -> int:
        return 256 + sum(self._weight(row) for row in rows)
