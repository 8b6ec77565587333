"""Rows ahead of a shared table: changes that are in the log and that their owner has not written yet."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic

from pipeline.ports import Row
from pipeline.store.lancedb.memtable import PendingChange
from pipeline.store.lancedb.row_codec import RowCodec


@dataclass(frozen=True, slots=True)
class LoggedChange(Generic[Row]):
    """A change of an entity at a position of its partition of the log.

    `apply` returns the very row it was given if that row has the change already; None: the entity is deleted.
    """

    incarnation: str
    partition: int
    offset: int
    apply: Callable[[Row | None], Row | None]


@dataclass(frozen=True, slots=True)
class ShownEntity(Generic[Row]):
    """An entity with its unwritten changes, in log order, over the newest row that is known to be before them."""

    changes: tuple[LoggedChange[Row], ...] = ()
    base: Row | None = None
    deleted_through: int = -1
    """Position of the newest deletion that is known to be written; changes up to it are no longer applied."""
    reads: int = 0
    """Number of times that a stored row was put below the changes."""
    stored_count: int = 0
    """Number of counted rows that are stored."""
    count_change: int = 0
    """By how much the changes change it."""

    @property
    def incarnation(self) -> str:
        return self.changes[0].incarnation

    def over(self, stored: Row | None, deleted: int = -1) -> "ShownEntity[Row]":
        """Return the entity over this stored row, or one that is `deleted` at this position, unless older.

        That there is no row says nothing by itself: the owner may have written a deletion that is not shown yet,
        and changes before it must not begin the entity anew.
        """
        known = max(self.deleted_through, -1 if self.base is None else _position(self.base))
        if stored is not None:
            return replace(self, base=stored) if _position(stored) >= known else self
        return replace(self, base=None, deleted_through=deleted) if deleted > known else self

    def fold(self) -> tuple[Row | None, bool]:
        """Return the row after the changes, and whether the stored one had all of them before."""
        row, is_written = self.base, True
        for change in self.changes:
            if change.offset > self.deleted_through:
                after = change.apply(row)
                is_written = is_written and after is row
                row = after
        return row, is_written

    def rows_over(self, stored: Sequence[Row]) -> list[Row]:
        """Return the row after the changes if these rows are stored."""
        return _as_rows(self.over(_as_row(stored)).fold()[0])


class RowOverlay(Generic[Row]):
    """Unwritten changes by entity key, and the rows that they make of the stored ones.

    Every method is synchronous. Changes of a key come in log order and without a gap, so applying them to any
    row that the owner wrote since the first of them gives the newest row.
    """

    def __init__(self, codec: RowCodec[Row]) -> None:
        self._codec = codec
        self._entities: dict[str, ShownEntity[Row]] = {}
        self._snapshot: dict[str, PendingChange[Row]] = {}
        self._count_changes: Counter[str] = Counter()

    def append(self, changes: Mapping[str, Sequence[LoggedChange[Row]]]) -> dict[str, int]:
        """Add changes, but those that a failed attempt added; returns a mark of each key, for `set_stored`."""
        marks = {}
        for key, added in changes.items():
            entity = self._entities.get(key, ShownEntity())
            last = entity.changes[-1].offset if entity.changes else -1
            fresh = [change for change in added if change.offset > last]
            self._entities[key] = replace(entity, changes=(*entity.changes, *fresh))
            marks[key] = entity.reads
        return marks

    def shown(self, keys: Iterable[str]) -> dict[str, ShownEntity[Row]]:
        """Return those of these keys that are shown with unwritten changes; take them before reading stored rows."""
        return {key: entity for key in keys if (entity := self._entities.get(key)) is not None and entity.reads}

    def set_stored(
        self, rows: Mapping[str, Sequence[Row]], marks: Mapping[str, int], deletions: Mapping[str, int]
    ) -> dict[str, Sequence[Row]]:
        """Put stored rows that were read since `append` below the changes, unless newer ones were meanwhile.

        `deletions`: log positions of the newest deletions of keys without a row, read after the rows. Returns what
        readers see of each key, without keys whose changes were all written meanwhile.
        """
        newest: dict[str, Sequence[Row]] = {}
        for key, mark in marks.items():
            if (entity := self._entities.get(key)) is not None:
                if entity.reads == mark:
                    entity = self._over(entity, rows.get(key, ()), deletions.get(key, -1))
                else:
                    # That others deleted the row was heard meanwhile, perhaps, but not where in the log.
                    entity = entity.over(None, deletions.get(key, -1))
                newest[key] = self._show(key, entity)
        return newest

    def on_stored_change(self, rows: Mapping[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
        """Put the changes on top of new stored rows; returns what readers see of each key."""
        return {
            key: stored if (entity := self._entities.get(key)) is None else self._show(key, self._over(entity, stored))
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

    def _over(self, entity: ShownEntity[Row], stored: Sequence[Row], deleted: int = -1) -> ShownEntity[Row]:
        over = entity.over(_as_row(stored), deleted)
        return replace(over, reads=entity.reads + 1, stored_count=self._count(stored))

    def _show(self, key: str, entity: ShownEntity[Row]) -> list[Row]:
        row, is_written = entity.fold()
        rows = _as_rows(row)
        if is_written:
            self.drop([key])
        else:
            count_change = self._count(rows) - entity.stored_count
            self._count_changes[entity.incarnation] += count_change - entity.count_change
            self._entities[key] = replace(entity, count_change=count_change)
            self._snapshot[key] = PendingChange(tuple(rows), entity.incarnation, 0, entity.reads)
        return rows

    def _count(self, rows: Iterable[Row]) -> int:
        return sum(map(self._codec.is_counted, rows))


def _position(row: object) -> int:
    """Return the log position of a row's newest change; 0 for rows without one."""
    return int(getattr(row, "seq", 0))


def _as_row(rows: Sequence[Row]) -> Row | None:
    return rows[0] if rows else None


def _as_rows(row: Row | None) -> list[Row]:
    return [] if row is None else [row]
