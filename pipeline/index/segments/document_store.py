"""Documents of one namespace for searches: presence, fields to show, and metadata columns for filters."""

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from pipeline.columns import from_microseconds, metadata_json, string_column, to_microseconds
from pipeline.index.segments.dictionary_encoded_column import DictionaryEncodedColumn, field_names, filter_mask
from pipeline.index.segments.document_ordinal_map import DocumentOrdinalMap, SortedKeys
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.rows import DocumentColumns, DocumentRow, StringColumn
from pipeline.text.calendar_day import parse_calendar_day
from schemas.filters import FilterExpression

MISSING_DOCUMENT_ORDINAL = 0
"""Ordinal of rows without a document; never present."""
_MAX_OVERRIDES = 4096
_BYTES_PER_OVERRIDE = 700


class StoredDocument(NamedTuple):
    """Fields of a document, as `DocumentColumns` has them. Empty strings mean none; times are in microseconds."""

    key: str = ""
    id: str = ""
    title: str = ""
    type: str = ""
    summary: str = ""
    metadata_json: str = ""
    date_text: str = ""
    created_at: int = 0
    updated_at: int = 0

    def parsed_metadata(self) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(self.metadata_json) if self.metadata_json else {}
        return values

    @property
    def effective_date(self) -> date:
        """The document's own date, else the day it was added."""
        return parse_calendar_day(self.date_text) or from_microseconds(self.created_at).date()


EMPTY_DOCUMENT = StoredDocument()
"""Placeholder for a removed document: in packed columns, and in hits whose document is gone."""


@dataclass(frozen=True, slots=True)
class StoredDocuments:
    """All documents of a store as columns, for a file: nothing in them belongs to a removed or replaced document."""

    keys: SortedKeys
    blocks: Sequence[DocumentColumns]
    changed: DocumentColumns
    """Documents that replace those of the blocks; empty for removed ones."""
    changed_ordinals: NDArray[np.int32]
    present: NDArray[np.bool_]


class DocumentStore:
    """Documents by ordinal; a document keeps its ordinal, also while it is removed."""

    def __init__(self, columns: DocumentColumns) -> None:
        self._blocks = _ColumnBlocks([columns])
        self._mmap_store: MmapStore | None = None
        self._overrides: dict[int, StoredDocument | None] = {}
        self._ordinals = DocumentOrdinalMap(SortedKeys.sort(columns.keys))
        self._metadata_columns: dict[str, DictionaryEncodedColumn] = {}
        self._removed_count = 0
        self.present = np.ones(len(columns.keys) + 1, np.bool_)
        self.present[MISSING_DOCUMENT_ORDINAL] = False

    def __len__(self) -> int:
        return int(np.count_nonzero(self.present))

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        held = self._ordinals.nbytes + len(self._overrides) * _BYTES_PER_OVERRIDE
        held += 0 if self._mmap_store else self._blocks.nbytes
        return held + sum(column.nbytes for column in self._metadata_columns.values())

    @property
    def is_spilled(self) -> bool:
        """True when the columns are mapped from disk."""
        return self._mmap_store is not None

    @property
    def fragmented(self) -> bool:
        """True when more documents were removed than are present: each leaves 200 bytes behind."""
        return self._removed_count > max(_MAX_OVERRIDES, len(self))

    @classmethod
    def restore(cls, stored: StoredDocuments, mmap_store: MmapStore | None = None) -> "DocumentStore":
        """The store of these documents; with `mmap_store`, their columns are mapped already."""
        store = cls(_pack_columns(()))
        store._blocks = _ColumnBlocks(stored.blocks)
        store._mmap_store = mmap_store
        store._ordinals = DocumentOrdinalMap(stored.keys)
        store.present = stored.present
        changed = _ColumnBlocks([stored.changed])
        for position, ordinal in enumerate(stored.changed_ordinals.tolist(), 1):
            store._overrides[ordinal] = changed.get(position) if store.present[ordinal] else None
        return store

    def copy(self) -> "DocumentStore":
        """The documents so far, which later changes do not affect; without metadata columns."""
        copied = DocumentStore(_pack_columns(()))
        copied._blocks, copied._mmap_store = self._blocks, self._mmap_store
        copied._overrides, copied._ordinals = dict(self._overrides), self._ordinals.copy()
        copied.present = self.present
        return copied

    def stored_documents(self) -> StoredDocuments:
        """All documents, for a file. Takes time for each replaced one: call it in a thread, on a copy."""
        overrides = {ordinal: self._overrides[ordinal] for ordinal in sorted(self._overrides)}
        ordinals = np.array(list(overrides), np.int32)
        return StoredDocuments(
            self._ordinals.sorted_keys(),
            self._blocks.without(ordinals),
            _pack_columns(overrides.values()),
            ordinals,
            self.present,
        )

    def spill_to_disk(self, mmap_store: MmapStore) -> None:
        """Map the columns from disk; only ordinals and recent changes stay in memory."""
        if self._mmap_store is None:
            self._blocks = _ColumnBlocks([mmap_store.spill(block) for block in self._blocks.columns])
            self._mmap_store = mmap_store

    def has_ordinal(self, key: str) -> bool:
        """Tell whether this index has ever seen the document."""
        return key in self._ordinals

    def ordinals(self, keys: Iterable[str]) -> NDArray[np.int32]:
        """The ordinals of document keys; new ones for documents that are not present (yet)."""
        ordinals = self._ordinals.get_or_assign(list(keys))
        missing = len(self._ordinals) + 1 - len(self.present)
        if missing:
            self.present = np.append(self.present, np.zeros(missing, np.bool_))
        return ordinals

    def get(self, ordinal: int) -> StoredDocument | None:
        """The document; None when it is not present."""
        if not self.present[ordinal]:
            return None
        overrides = self._overrides
        return overrides[ordinal] if ordinal in overrides else self._blocks.get(ordinal)

    def key(self, ordinal: int) -> str:
        """The key of a document; empty when it is not present."""
        if not self.present[ordinal]:
            return ""
        override = self._overrides.get(ordinal)
        return override.key if override else self._blocks.key(ordinal)

    def apply(self, rows_by_key: Mapping[str, list[DocumentRow]]) -> NDArray[np.intp]:
        """Apply changed documents; return the ordinals of those that appeared or disappeared."""
        if not rows_by_key:
            return np.zeros(0, np.intp)
        keys = [key for key, rows in rows_by_key.items() if rows or key in self._ordinals]
        ordinals = self.ordinals(keys).tolist()
        present = self.present.copy()
        for key, ordinal in zip(keys, ordinals, strict=True):
            rows = rows_by_key[key]
            present[ordinal] = bool(rows)
            self._override(ordinal, _to_stored_document(rows[-1]) if rows else None)
        changed = np.flatnonzero(present != self.present)
        self._removed_count += int(np.count_nonzero(self.present & ~present))
        self.present = present
        if len(self._overrides) > _MAX_OVERRIDES:
            self._pack_overrides()
        return changed

    def filter_mask(self, expression: FilterExpression) -> NDArray[np.bool_]:
        """Mask by ordinal of the documents that pass. Metadata columns are built on first use."""
        missing = field_names(expression) - self._metadata_columns.keys()
        if missing:
            self._build_metadata_columns(missing)
        return filter_mask(expression, self._metadata_columns, len(self.present))

    def mask_of(self, keys: Iterable[str]) -> NDArray[np.bool_]:
        ordinals = self.ordinals(keys)
        mask = np.zeros(len(self.present), np.bool_)
        mask[ordinals] = True
        return mask

    def _override(self, ordinal: int, document: StoredDocument | None) -> None:
        self._overrides[ordinal] = document
        values = document.parsed_metadata() if document else {}
        for name, column in self._metadata_columns.items():
            column.put(ordinal, values.get(name))
        self._metadata_columns = {
            name: column for name, column in self._metadata_columns.items() if not column.fragmented
        }

    def _build_metadata_columns(self, names: set[str]) -> None:
        columns = {name: DictionaryEncodedColumn(len(self.present)) for name in names}
        ordinals = np.flatnonzero(self.present).tolist()
        overrides, blocks = self._overrides, self._blocks
        metadata = [
            override.metadata_json if (override := overrides.get(ordinal)) else blocks.metadata(ordinal)
            for ordinal in ordinals
        ]
        # Parsing one joined array takes a third of the time of parsing each object.
        parsed = from_json("[" + ",".join(text or "{}" for text in metadata) + "]")
        for name, column in columns.items():
            for ordinal, values in zip(ordinals, parsed, strict=True):
                if name in values:
                    column.put(ordinal, values[name])
        self._metadata_columns |= columns

    def _pack_overrides(self) -> None:
        """Pack new documents into a block; after many changes of old ones, pack everything into one block."""
        first, last = len(self._blocks) + 1, len(self.present)
        blocks = self._blocks
        if len(self._overrides) - (last - first) > max(_MAX_OVERRIDES, len(blocks) // 4):
            first, blocks = 1, _ColumnBlocks([])
        packed = _pack_columns(self.get(ordinal) for ordinal in range(first, last))
        # Overrides are replaced last: concurrent searches in threads read them first, and spilling may fail.
        self._blocks = blocks.with_block(packed if self._mmap_store is None else self._mmap_store.spill(packed))
        self._overrides = {ordinal: document for ordinal, document in self._overrides.items() if ordinal < first}


class _ColumnBlocks:
    """Columns loaded from the tables followed by packed ones, addressed by ordinal from 1."""

    def __init__(self, columns: Sequence[DocumentColumns]) -> None:
        self.columns = columns
        self._ends = list(accumulate(len(block.keys) for block in columns))
        self._fields = [_columns_of(block) for block in columns]

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def nbytes(self) -> int:
        """Bytes held by strings."""
        columns = (column for fields in self._fields for column in fields if isinstance(column, StringColumn))
        return sum(strings.data.nbytes + strings.offsets.nbytes for strings in columns)

    def with_block(self, columns: DocumentColumns) -> "_ColumnBlocks":
        return _ColumnBlocks([*self.columns, columns])

    def without(self, ordinals: NDArray[np.int32]) -> list[DocumentColumns]:
        """The columns with these documents (ascending) emptied."""
        bounds = zip([0, *self._ends], self._ends, strict=False)
        rows = [ordinals[(ordinals > start) & (ordinals <= end)] - 1 - start for start, end in bounds]
        return [_empty_rows(block, of_block) for block, of_block in zip(self.columns, rows, strict=True)]

    def metadata(self, ordinal: int) -> str:
        """The metadata of a document, as JSON; empty for none."""
        number, row = self._locate(ordinal)
        return self.columns[number].metadata[row]

    def get(self, ordinal: int) -> StoredDocument:
        number, row = self._locate(ordinal)
        *texts, created_at, updated_at = self._fields[number]
        return StoredDocument._make([*(text[row] for text in texts), int(created_at[row]), int(updated_at[row])])

    def key(self, ordinal: int) -> str:
        number, row = self._locate(ordinal)
        return self.columns[number].keys[row]

    def _locate(self, ordinal: int) -> tuple[int, int]:
        """The block of a document, and its row there."""
        number = bisect_left(self._ends, ordinal)
        return number, ordinal - 1 - (self._ends[number - 1] if number else 0)


def _columns_of(columns: DocumentColumns) -> Any:
    """Return the columns in the order of the fields of `StoredDocument`."""
    return [getattr(columns, field.name) for field in fields(columns)]


def _empty_rows(block: DocumentColumns, rows: NDArray[np.int32]) -> DocumentColumns:
    strings: dict[str, Any] = {
        field.name: value.without(rows)
        for field in fields(block)
        if isinstance(value := getattr(block, field.name), StringColumn)
    }
    return replace(block, **strings) if len(rows) else block


def document_columns(rows: Iterable[DocumentRow]) -> DocumentColumns:
    """Return the columns that a store begins with."""
    return _pack_columns(map(_to_stored_document, rows))


def _pack_columns(documents: Iterable[StoredDocument | None]) -> DocumentColumns:
    stored = [document or EMPTY_DOCUMENT for document in documents]
    *texts, created_at, updated_at = zip(*stored, strict=True) if stored else [()] * len(StoredDocument._fields)
    values: list[Any] = [*map(string_column, texts), *np.array([created_at, updated_at], np.int64)]
    return DocumentColumns(*values)


def _to_stored_document(row: DocumentRow) -> StoredDocument:
    return StoredDocument(
        key=row.key,
        id=row.id,
        title=row.title or "",
        type=row.type,
        summary=row.summary or "",
        metadata_json=metadata_json(row.metadata),
        date_text=row.date or "",
        created_at=to_microseconds(row.created_at),
        updated_at=to_microseconds(row.updated_at),
    )
