"""Rows ahead of a shared table: changes that are in the log and that their owner has not written yet."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pipeline.store.lancedb.memtable import PendingChange
from pipeline.store.lancedb.row_codec import RowCodec

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class LoggedChange(Generic[Row]):
    """A change of an entity at a position of its partition of the log.

    `apply` returns the very row it was given if that row has the change already; None: the entity is deleted.
    """

    incarnation: str
    partition: int
    offset: int
    apply: Callable[[Row | None], Row | None]


@dataclass(slots=True, eq=False)
class _Entity(Generic[Row]):
    """An entity with its unwritten changes, in log order."""

    changes: list[LoggedChange[Row]]
    stored: Row | None = None
    """The row below the changes, as last read."""
    row: Row | None = None
    reads: int = 0
    """Number of times that `stored` was set."""
    count_change: int = 0
    """By how much it changes the count of its incarnation."""

    @property
    def incarnation(self) -> str:
        return self.changes[0].incarnation

    def fold(self) -> tuple[Row | None, bool]:
        """Return the stored row after the changes, and whether it had all of them before."""
        row, is_written = self.stored, True
        for change in self.changes:
            after = change.apply(row)
            is_written = is_written and after is row
            row = after
        return row, is_written


class RowOverlay(Generic[Row]):
    """Unwritten changes by entity key, and the rows that they make of the stored ones.

    Every method is synchronous. Changes of a key come in log order and without a gap, so applying them to any
    row that the owner wrote since the first of them gives the newest row.
    """

    def __init__(self, codec: RowCodec[Row]) -> None:
        self._codec = codec
        self._entities: dict[str, _Entity[Row]] = {}
        self._snapshot: dict[str, PendingChange[Row]] = {}
        self._count_changes: Counter[str] = Counter()
        self.drops = 0
        """Number of times that a key was dropped."""

    def __len__(self) -> int:
        return len(self._entities)

    def append(self, changes: Mapping[str, Sequence[LoggedChange[Row]]]) -> dict[str, int]:
        """Add changes, but those that a failed attempt added; returns a mark of each key, for `set_stored`."""
        marks = {}
        for key, added in changes.items():
            entity = self._entities.setdefault(key, _Entity([]))
            last = entity.changes[-1].offset if entity.changes else -1
            entity.changes.extend(change for change in added if change.offset > last)
            marks[key] = entity.reads
        return marks

    def changes_of(self, key: str) -> tuple[LoggedChange[Row], ...]:
        """Return the unwritten changes of a key; take them before reading its stored row."""
        entity = self._entities.get(key)
        return () if entity is None else tuple(entity.changes)

    def set_stored(self, rows: Mapping[str, Sequence[Row]], marks: Mapping[str, int]) -> dict[str, list[Row]]:
        """Set stored rows read since `append`, unless newer ones were set meanwhile; returns the newest rows."""
        newest: dict[str, list[Row]] = {}
        for key, mark in marks.items():
            entity = self._entities.get(key)
            if entity is None:
                newest[key] = list(rows.get(key, ()))
                continue
            stored = rows.get(key, ()) if entity.reads == mark else _as_rows(entity.stored)
            newest[key] = self._rebase(key, entity, stored)
        return newest

    def on_stored_change(self, rows: Mapping[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
        """Put the changes on top of new stored rows; returns what readers see of each key."""
        return {
            key: stored if (entity := self._entities.get(key)) is None else self._rebase(key, entity, stored)
            for key, stored in rows.items()
        }

    def keys_before(self, next_offsets: Mapping[int, int]) -> list[str]:
        """Return the keys whose changes are all before these offsets of their partitions."""
        return [
            key
            for key, entity in self._entities.items()
            if (last := entity.changes[-1]).offset < next_offsets.get(last.partition, 0)
        ]

    def drop(self, keys: Iterable[str]) -> None:
        """Drop keys whose changes have all been written."""
        for key in keys:
            if (entity := self._entities.pop(key, None)) is not None:
                self.drops += 1
                self._count_changes[entity.incarnation] -= entity.count_change
                self._snapshot.pop(key, None)

    def snapshot(self) -> Mapping[str, PendingChange[Row]]:
        """Return the newest row of every key with unwritten changes."""
        return dict(self._snapshot)

    def count_change(self, incarnation: str) -> int:
        """Return by how much the count of an incarnation differs from that of the stored rows."""
        return self._count_changes[incarnation]

    def incarnations(self) -> Collection[str]:
        """Return the incarnations of keys with unwritten changes."""
        return {entity.incarnation for entity in self._entities.values()}

    def _rebase(self, key: str, entity: _Entity[Row], rows: Sequence[Row]) -> list[Row]:
        entity.reads += 1
        read = rows[0] if rows else None
        # A row that was read before the one that is known must not bring back what was dropped since.
        if read is None or entity.stored is None or _position(read) >= _position(entity.stored):
            entity.stored = read
        entity.row, is_written = entity.fold()
        if is_written:
            self.drop([key])
        else:
            self._snapshot[key] = PendingChange(tuple(_as_rows(entity.row)), entity.incarnation, 0, entity.reads)
            before, entity.count_change = entity.count_change, self._count(entity.row) - self._count(entity.stored)
            self._count_changes[entity.incarnation] += entity.count_change - before
        return _as_rows(entity.row)

    def _count(self, row: Row | None) -> int:
        return int(row is not None and self._codec.is_counted(row))


def fold_changes(rows: Sequence[Row], changes: Iterable[LoggedChange[Row]]) -> list[Row]:
    """Return the row after these changes."""
    return _as_rows(_Entity(list(changes), rows[0] if rows else None).fold()[0])


def _position(row: object) -> int:
    """Return the log position of a row's newest change; 0 for rows without one."""
    return int(getattr(row, "seq", 0))


def _as_rows(row: Row | None) -> list[Row]:
    return [] if row is None else [row]
