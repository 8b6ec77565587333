"""The documents of one namespace as a search needs them: who is there, what to show, what to filter by."""

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from pipeline.columns import metadata_json, microseconds, moment, texts
from pipeline.index.fields import Field, fields_of, mask
from pipeline.index.ordinals import Ordinals
from pipeline.index.shelf import Shelf
from pipeline.memory.utterance import calendar_day
from pipeline.rows import DocumentColumns, DocumentRow, Texts
from schemas.filters import FilterExpression

NOBODY = 0
"""The ordinal of what has no document; never present."""
_CHANGES = 4096
_BYTES_PER_CHANGE = 700


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What is known of a document. `metadata` is JSON, `dated` its date; empty for none. Microseconds."""

    key: str
    id: str
    title: str
    type: str
    summary: str
    metadata: str
    created_at: int
    updated_at: int
    dated: str = ""

    def values(self) -> dict[str, Any]:
        """The metadata."""
        return _values(self.metadata)

    @property
    def day(self) -> date:
        """The day it is of: of the date it was given, else the one on which it came."""
        return calendar_day(self.dated) or moment(self.created_at).date()


NO_DOCUMENT = DocumentFacts("", "", "", "", "", "", 0, 0)
"""Stands for a document that went: in what is packed, and where its rows are shown all the same."""


class DocumentSide:
    """Documents by ordinal: a small number that stays theirs, even while they are gone."""

    def __init__(self, columns: DocumentColumns) -> None:
        self._bases = _Bases([columns])
        self._shelf: Shelf | None = None
        self._changed: dict[int, DocumentFacts | None] = {}
        self._ordinals = Ordinals(columns.keys)
        self._fields: dict[str, Field] = {}
        self._went = 0
        self.present = np.ones(len(columns.keys) + 1, np.bool_)
        self.present[NOBODY] = False

    def __len__(self) -> int:
        return int(np.count_nonzero(self.present))

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        held = self._ordinals.nbytes + len(self._changed) * _BYTES_PER_CHANGE
        held += 0 if self._shelf else self._bases.nbytes
        return held + sum(column.nbytes for column in self._fields.values())

    @property
    def shelved(self) -> bool:
        """Whether they are mapped."""
        return self._shelf is not None

    @property
    def worn(self) -> bool:
        """Whether more documents went than are there: what is left of each takes 200 bytes for good."""
        return self._went > max(_CHANGES, len(self))

    def shelve(self, shelf: Shelf) -> None:
        """From now on hold only numbers and what was changed lately."""
        if self._shelf is None:
            self._bases = _Bases([shelf.put(one) for one in self._bases.columns])
            self._shelf = shelf

    def knows(self, key: str) -> bool:
        """Whether this document was ever seen here."""
        return key in self._ordinals

    def ordinals(self, keys: Iterable[str]) -> NDArray[np.int32]:
        """The ordinals of document keys; new ones for documents that are not there (yet)."""
        found = self._ordinals.of(list(keys))
        missing = len(self._ordinals) + 1 - len(self.present)
        if missing:
            self.present = np.append(self.present, np.zeros(missing, np.bool_))
        return found

    def facts(self, ordinal: int) -> DocumentFacts | None:
        """What is known of a document that is there."""
        if not self.present[ordinal]:
            return None
        changed = self._changed
        return changed[ordinal] if ordinal in changed else self._bases.facts(ordinal)

    def key(self, ordinal: int) -> str:
        """Of a document that is there; else nothing."""
        if not self.present[ordinal]:
            return ""
        changed = self._changed.get(ordinal)
        return changed.key if changed else self._bases.key(ordinal)

    def apply(self, groups: Mapping[str, list[DocumentRow]]) -> NDArray[np.intp]:
        """Take in changed documents; the ordinals of those that came or went."""
        if not groups:
            return np.zeros(0, np.intp)
        known = [key for key, rows in groups.items() if rows or key in self._ordinals]
        ordinals = self.ordinals(known).tolist()
        present = self.present.copy()
        for key, at in zip(known, ordinals, strict=True):
            rows = groups[key]
            present[at] = bool(rows)
            self._change(at, _facts(rows[-1]) if rows else None)
        came_or_went = np.flatnonzero(present != self.present)
        self._went += int(np.count_nonzero(self.present & ~present))
        self.present = present
        if len(self._changed) > _CHANGES:
            self._pack()
        return came_or_went

    def mask(self, expression: FilterExpression) -> NDArray[np.bool_]:
        """By ordinal: whether a document passes. Fields are read once and kept."""
        missing = fields_of(expression) - self._fields.keys()
        if missing:
            self._read(missing)
        return mask(expression, self._fields, len(self.present))

    def _change(self, at: int, facts: DocumentFacts | None) -> None:
        self._changed[at] = facts
        values = facts.values() if facts else {}
        for name, column in self._fields.items():
            column.put(at, values.get(name))
        self._fields = {name: column for name, column in self._fields.items() if not column.worn}

    def _read(self, names: set[str]) -> None:
        fresh = {name: Field(len(self.present)) for name in names}
        there = np.flatnonzero(self.present).tolist()
        changed, bases = self._changed, self._bases
        every = [known.metadata if (known := changed.get(at)) else bases.metadata(at) for at in there]
        # One text parsed at once takes a third of the time that each by itself does.
        parsed = from_json("[" + ",".join(one or "{}" for one in every) + "]")
        for name, column in fresh.items():
            for at, values in zip(there, parsed, strict=True):
                if name in values:
                    column.put(at, values[name])
        self._fields |= fresh

    def _pack(self) -> None:
        """What came since becomes a base of its own; of what was changed much, everything becomes one."""
        first, last = len(self._bases) + 1, len(self.present)
        bases = self._bases
        if len(self._changed) - (last - first) > max(_CHANGES, len(bases) // 4):
            first, bases = 1, _Bases([])
        packed = _packed(self.facts(at) for at in range(first, last))
        # What was changed goes last: a search in a thread looks there first, and the disk may be full.
        self._bases = bases.plus(packed if self._shelf is None else self._shelf.put(packed))
        self._changed = {at: facts for at, facts in self._changed.items() if at < first}


class _Bases:
    """Documents as they came from the store, and those packed since: by ordinal, from 1."""

    def __init__(self, columns: Sequence[DocumentColumns]) -> None:
        self.columns = columns
        self._ends = list(accumulate(len(one.keys) for one in columns))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def nbytes(self) -> int:
        """Bytes held by their texts."""
        return sum(part.data.nbytes + part.offsets.nbytes for one in self.columns for part in _texts_of(one))

    def plus(self, columns: DocumentColumns) -> "_Bases":
        """These and more."""
        return _Bases([*self.columns, columns])

    def metadata(self, ordinal: int) -> str:
        """The metadata of a document, as JSON; empty for none."""
        base, at = self._place(ordinal)
        return base.metadata[at]

    def facts(self, ordinal: int) -> DocumentFacts:
        """What is known of a document."""
        base, at = self._place(ordinal)
        return DocumentFacts(
            key=base.keys[at],
            id=base.ids[at],
            title=base.titles[at],
            type=base.types[at],
            summary=base.summaries[at],
            metadata=base.metadata[at],
            dated=base.dates[at],
            created_at=int(base.created_at[at]),
            updated_at=int(base.updated_at[at]),
        )

    def key(self, ordinal: int) -> str:
        """Of a document."""
        base, at = self._place(ordinal)
        return base.keys[at]

    def _place(self, ordinal: int) -> tuple[DocumentColumns, int]:
        which = bisect_left(self._ends, ordinal)
        return self.columns[which], ordinal - 1 - (self._ends[which - 1] if which else 0)


def _texts_of(one: DocumentColumns) -> tuple[Texts, ...]:
    return (one.keys, one.ids, one.titles, one.types, one.summaries, one.metadata, one.dates)


def _packed(facts: Iterable[DocumentFacts | None]) -> DocumentColumns:
    every = [one or NO_DOCUMENT for one in facts]
    return DocumentColumns(
        keys=texts(one.key for one in every),
        ids=texts(one.id for one in every),
        titles=texts(one.title for one in every),
        types=texts(one.type for one in every),
        summaries=texts(one.summary for one in every),
        metadata=texts(one.metadata for one in every),
        dates=texts(one.dated for one in every),
        created_at=np.array([one.created_at for one in every], np.int64),
        updated_at=np.array([one.updated_at for one in every], np.int64),
    )


def _facts(row: DocumentRow) -> DocumentFacts:
    return DocumentFacts(
        key=row.key,
        id=row.id,
        title=row.title or "",
        type=row.type,
        summary=row.summary or "",
        metadata=metadata_json(row.metadata),
        dated=row.date or "",
        created_at=microseconds(row.created_at),
        updated_at=microseconds(row.updated_at),
    )


def _values(metadata: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(metadata) if metadata else {}
    return values
