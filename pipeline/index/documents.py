"""The documents of one namespace as a search needs them: who is there, what to show, what to filter by."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from pipeline.columns import metadata_json, microseconds, moment, texts
from pipeline.index.fields import Field, fields_of, mask
from pipeline.memory.utterance import calendar_day
from pipeline.rows import DocumentColumns, DocumentRow
from schemas.filters import FilterExpression

NOBODY = 0
"""The ordinal of what has no document; never present."""
_CHANGES = 4096
_BYTES_PER_KEY = 200
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


class DocumentSide:
    """Documents by ordinal: a small number that stays theirs, even while they are gone."""

    def __init__(self, columns: DocumentColumns) -> None:
        self._base = columns
        self._changed: dict[int, DocumentFacts | None] = {}
        self._ordinals = {key: at + 1 for at, key in enumerate(columns.keys)}
        self._fields: dict[str, Field] = {}
        self.present = np.ones(len(columns.keys) + 1, np.bool_)
        self.present[NOBODY] = False

    def __len__(self) -> int:
        return int(np.count_nonzero(self.present))

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        base = self._base
        packed = (base.keys, base.ids, base.titles, base.types, base.summaries, base.metadata, base.dates)
        held = sum(part.data.nbytes + part.offsets.nbytes for part in packed)
        held += len(self._ordinals) * _BYTES_PER_KEY + len(self._changed) * _BYTES_PER_CHANGE
        return held + sum(column.nbytes for column in self._fields.values())

    def knows(self, key: str) -> bool:
        """Whether this document was ever seen here."""
        return key in self._ordinals

    def ordinals(self, keys: Iterable[str]) -> NDArray[np.int32]:
        """The ordinals of document keys; new ones for documents that are not there (yet)."""
        found = []
        known = self._ordinals
        for key in keys:
            at = known.get(key)
            if at is None:
                at = known[key] = len(known) + 1
            found.append(at)
        missing = len(known) + 1 - len(self.present)
        if missing:
            self.present = np.append(self.present, np.zeros(missing, np.bool_))
        return np.array(found, np.int32)

    def facts(self, ordinal: int) -> DocumentFacts | None:
        """What is known of a document that is there."""
        if not self.present[ordinal]:
            return None
        changed = self._changed.get(ordinal)
        return changed or self._from_base(ordinal - 1)

    def apply(self, groups: Mapping[str, list[DocumentRow]]) -> bool:
        """Take in changed documents; whether any came or went."""
        known = [key for key, rows in groups.items() if rows or key in self._ordinals]
        ordinals = self.ordinals(known).tolist()
        present = self.present.copy()
        for key, at in zip(known, ordinals, strict=True):
            rows = groups[key]
            present[at] = bool(rows)
            self._change(at, _facts(rows[-1]) if rows else None)
        came_or_went = not np.array_equal(present, self.present)
        self.present = present
        if len(self._changed) > max(_CHANGES, len(self._base.keys) // 4):
            self._repack()
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
        changed, base = self._changed, self._base.metadata
        every = [known.metadata if (known := changed.get(at)) else base[at - 1] for at in there]
        # One text parsed at once takes a third of the time that each by itself does.
        parsed = from_json("[" + ",".join(one or "{}" for one in every) + "]")
        for name, column in fresh.items():
            for at, values in zip(there, parsed, strict=True):
                if name in values:
                    column.put(at, values[name])
        self._fields |= fresh

    def _from_base(self, at: int) -> DocumentFacts:
        base = self._base
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

    def _repack(self) -> None:
        """Changes into one new base; ordinals stay."""
        nobody = DocumentFacts("", "", "", "", "", "", 0, 0)
        every = [self.facts(at) or nobody for at in range(1, len(self.present))]
        self._base = DocumentColumns(
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
        self._changed = {}


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
