"""Segments: immutable blocks of rows of one kind with inverted indexes; deleted rows are only marked."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.columns import fingerprints, list_offsets, string_column
from pipeline.index.segments.binary_quantization import SignBitCodes
from pipeline.index.segments.common_part import LengthCache
from pipeline.index.segments.key_postings import KeyPostings
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.index.segments.postings import Postings, build_postings, merge_postings
from pipeline.packed_vectors import packed_dimensions, unpack
from pipeline.rows import ChunkColumns, MemoryColumns, StringColumn, Terms
from schemas.events import RelationKind

A = TypeVar("A")
Z = TypeVar("Z")
C = TypeVar("C", ChunkColumns, MemoryColumns)

NO_TERMS: Terms = np.zeros(0, np.uint32)
NO_OFFSETS: NDArray[np.int64] = np.zeros(1, np.int64)
_RAGGED_COLUMNS = {"terms": "term_offsets", "comparison_key_hashes": "comparison_key_offsets"}
"""Columns with several values per row, and the columns with the offsets of each row."""
_NO_TEXTS = StringColumn(memoryview(b""), NO_OFFSETS)
MIN_QUANTIZED_ROWS = 4_096
"""Rows from which a segment gets sign bits of its vectors, by which a search computes few cosines; in a smaller one all
are computed."""


class RowLookup:
    """Row lookup by id and by relation target; built on first use, without a Python object for each row."""

    def __init__(self, columns: ChunkColumns | MemoryColumns) -> None:
        memories = columns if isinstance(columns, MemoryColumns) else None
        self._ids = columns.ids
        self._relations = None if memories is None else memories.relations
        self._versions = None if memories is None else memories.versions

    @cached_property
    def relations_by_target(self) -> dict[str, list[tuple[int, RelationKind]]]:
        """The rows that relate to a memory, and how, by the memory's id."""
        rows_by_target: dict[str, list[tuple[int, RelationKind]]] = {}
        if self._relations is None:
            return rows_by_target
        for row in np.flatnonzero(np.diff(self._relations.offsets)).tolist():
            for relation in json.loads(self._relations[row]):
                rows_by_target.setdefault(relation["target"], []).append((row, relation["kind"]))
        return rows_by_target

    @cached_property
    def updates_by_target(self) -> dict[str, list[int]]:
        """The rows that update a memory, by the memory's id. Only versions above 1 are parsed; few are."""
        rows_by_target: dict[str, list[int]] = {}
        if self._relations is None or self._versions is None:
            return rows_by_target
        for row in np.flatnonzero(self._versions > 1).tolist():
            for relation in json.loads(self._relations[row] or "[]"):
                if relation["kind"] == "updates":
                    rows_by_target.setdefault(relation["target"], []).append(row)
        return rows_by_target

    @cached_property
    def _id_fingerprints(self) -> NDArray[np.uint32]:
        return fingerprints(self._ids)

    def rows_with_ids(self, ids: Collection[str]) -> list[int]:
        if not len(self._ids) or not ids:
            return []
        id_set = set(ids)
        candidates = np.flatnonzero(np.isin(self._id_fingerprints, fingerprints(string_column(ids))))
        return [row for row in candidates.tolist() if self._ids[row] in id_set]


@dataclass(frozen=True, slots=True)
class ParentDocuments:
    """The documents that rows belong to: parallel arrays; `rows` None means one document per row, in order."""

    ordinals: NDArray[np.int32]
    rows: NDArray[np.int32] | None = None

    def of_row(self, row: int) -> list[int]:
        """The ordinals of a row's documents, in their order."""
        if self.rows is None:
            return [int(self.ordinals[row])]
        ordinals: list[int] = self.ordinals[slice(*self.rows.searchsorted([row, row + 1]))].tolist()
        return ordinals

    def has_any(self, ordinals: NDArray[np.intp]) -> bool:
        """Tell whether any row belongs to any of these documents."""
        # The newest documents have the highest ordinals, so most segments are older than all of them.
        if not len(self.ordinals) or ordinals.min() > self.ordinals.max():
            return False
        return bool(np.isin(self.ordinals, ordinals).any())

    def first_present(self, present: NDArray[np.bool_], row_count: int) -> NDArray[np.int32]:
        """The first present document of each row; MISSING_DOCUMENT_ORDINAL (0) for none."""
        if self.rows is None:
            return self.ordinals
        entries = np.flatnonzero(present[self.ordinals])[::-1]
        first = np.zeros(row_count, np.int32)
        # Backwards, so that the first document of a row is written last.
        first[self.rows[entries]] = self.ordinals[entries]
        return first


@dataclass(frozen=True, eq=False)
class Segment(Generic[C]):
    """Rows of one kind. `columns` come without terms, keys and documents, which are stored as indexes."""

    columns: C
    postings: Postings
    parents: ParentDocuments
    deleted: NDArray[np.bool_]
    lookup: RowLookup
    vector_codes: SignBitCodes | None = None
    key_postings: KeyPostings | None = None
    """Comparison keys of memories; None for chunks."""
    length_cache: LengthCache = field(default_factory=LengthCache)
    is_spilled: bool = False
    """True when columns, postings and keys are mapped from disk."""

    @classmethod
    def of(
        cls,
        columns: C,
        postings: Postings,
        parents: ParentDocuments,
        *,
        vector_codes: SignBitCodes | None,
        key_postings: KeyPostings | None,
        length_cache: LengthCache | None = None,
    ) -> "Segment[C]":
        """The segment of these columns and indexes, with no row deleted."""
        return cls(
            columns,
            postings,
            parents,
            np.zeros(len(columns.ids), np.bool_),
            RowLookup(columns),
            vector_codes,
            key_postings,
            length_cache or LengthCache(),
        )

    def __len__(self) -> int:
        return len(self.deleted)

    @property
    def nbytes(self) -> int:
        """Bytes held in memory, without mapped data."""
        held = self.parents.ordinals.nbytes + self.deleted.nbytes + 4 * len(self)
        held += self.vector_codes.nbytes if self.vector_codes else 0
        if self.is_spilled:
            return held
        held += self.postings.nbytes + (self.key_postings.nbytes if self.key_postings else 0)
        for column in fields(self.columns):
            value = getattr(self.columns, column.name)
            held += value.data.nbytes + value.offsets.nbytes if isinstance(value, StringColumn) else value.nbytes
        return held

    def with_deleted(self, rows: Sequence[int] | NDArray[np.intp]) -> "Segment[C]":
        deleted = self.deleted.copy()
        deleted[rows] = True
        return replace(self, deleted=deleted)

    def spill_to_disk(self, mmap_store: MmapStore) -> "Segment[C]":
        """The same segment, mapped from disk."""
        columns = mmap_store.spill(self.columns)
        return replace(
            self,
            columns=columns,
            postings=mmap_store.spill(self.postings),
            lookup=RowLookup(columns),
            key_postings=None if self.key_postings is None else mmap_store.spill(self.key_postings),
            is_spilled=True,
        )


def split_columns(columns: C, size: int) -> Iterator[C]:
    """Split rows into pieces of at most `size`; views, not copies."""
    for start in range(0, len(columns.ids), size):
        yield columns if len(columns.ids) <= size else _slice_columns(columns, start, start + size)


def build_segment(columns: C, parents: ParentDocuments) -> Segment[C]:
    return Segment.of(
        _drop_indexed_columns(columns),
        build_postings(columns.terms, columns.term_offsets),
        parents,
        vector_codes=_quantize_vectors(columns),
        key_postings=_build_key_postings(columns),
    )


def merge_segments(segments: Sequence[Segment[C]]) -> Segment[C]:
    """Merge the live rows of several segments, in their order."""
    alive = [~part.deleted for part in segments]
    columns = concatenate_columns([part.columns for part in segments], alive)
    keys = [(part.key_postings, keep) for part, keep in _zip_strict(segments, alive) if part.key_postings is not None]
    return Segment.of(
        columns,
        merge_postings([(part.postings, keep) for part, keep in zip(segments, alive, strict=True)]),
        _merge_parents(segments, alive),
        vector_codes=_quantize_vectors(columns),
        key_postings=KeyPostings.merge(keys) if keys else None,
    )


def concatenate_columns(parts: Sequence[C], keep: Sequence[NDArray[np.bool_]] | None = None) -> C:
    """Concatenate the kept rows of columns; always a copy, so that no buffer of the store is retained."""
    first = parts[0]
    masks: Sequence[NDArray[np.bool_] | None] = keep if keep is not None else [None] * len(parts)
    values: dict[str, Any] = {}
    for name in (column.name for column in fields(first)):
        columns = [getattr(part, name) for part in parts]
        if name in _RAGGED_COLUMNS:
            values[name] = np.concatenate(columns)
        elif name in _RAGGED_COLUMNS.values():
            values[name] = list_offsets(np.concatenate([np.diff(column) for column in columns]))
        elif isinstance(columns[0], StringColumn):
            values[name] = _concatenate_texts(columns, masks)
        else:
            kept = [column if mask is None else column[mask] for column, mask in _zip_strict(columns, masks)]
            values[name] = np.concatenate(kept)
    return type(first)(**values)


def _slice_columns(columns: C, start: int, stop: int) -> C:
    values: dict[str, Any] = {}
    for column in fields(columns):
        value = getattr(columns, column.name)
        values[column.name] = (
            StringColumn(value.data, value.offsets[start : stop + 1])
            if isinstance(value, StringColumn)
            else value[start:stop]
        )
    for name, offsets in _RAGGED_COLUMNS.items():
        if offsets in values:
            bounds = getattr(columns, offsets)[start : stop + 1]
            values[name] = getattr(columns, name)[bounds[0] : bounds[-1]]
            values[offsets] = bounds - bounds[0]
    return type(columns)(**values)


def _merge_parents(segments: Sequence[Segment[C]], live_masks: Sequence[NDArray[np.bool_]]) -> ParentDocuments:
    if segments[0].parents.rows is None:
        return ParentDocuments(
            np.concatenate([part.parents.ordinals[keep] for part, keep in _zip_strict(segments, live_masks)])
        )
    documents, rows, start = [], [], 0
    for part, keep in _zip_strict(segments, live_masks):
        owner_rows = part.parents.rows
        if owner_rows is not None:
            kept = keep[owner_rows]
            number = np.cumsum(keep, dtype=np.int32) - 1 + start
            documents.append(part.parents.ordinals[kept])
            rows.append(number[owner_rows[kept]])
        start += int(np.count_nonzero(keep))
    return ParentDocuments(np.concatenate(documents), np.concatenate(rows))


def _build_key_postings(columns: ChunkColumns | MemoryColumns) -> KeyPostings | None:
    return (
        KeyPostings.build(columns.comparison_key_hashes, columns.comparison_key_offsets)
        if isinstance(columns, MemoryColumns)
        else None
    )


def _quantize_vectors(columns: ChunkColumns | MemoryColumns) -> SignBitCodes | None:
    is_large = len(columns.ids) >= MIN_QUANTIZED_ROWS and packed_dimensions(columns.vectors) > 0
    return SignBitCodes.quantize(unpack(columns.vectors)) if is_large else None


def _drop_indexed_columns(columns: C) -> C:
    if isinstance(columns, ChunkColumns):
        return replace(columns, terms=NO_TERMS, term_offsets=NO_OFFSETS, documents=_NO_TEXTS)
    return replace(
        columns,
        terms=NO_TERMS,
        term_offsets=NO_OFFSETS,
        sources=_NO_TEXTS,
        comparison_key_hashes=NO_TERMS,
        comparison_key_offsets=NO_OFFSETS,
    )


def _concatenate_texts(columns: Sequence[StringColumn], masks: Sequence[NDArray[np.bool_] | None]) -> StringColumn:
    data: list[memoryview] = []
    lengths: list[NDArray[np.int64]] = []
    for column, mask in _zip_strict(columns, masks):
        if mask is None or not len(column) or mask.all():
            data.append(column.data[int(column.offsets[0]) : int(column.offsets[-1])])
            lengths.append(np.diff(column.offsets))
        else:
            rows = np.flatnonzero(mask)
            starts, ends = column.offsets[rows], column.offsets[rows + 1]
            data += [column.data[start:end] for start, end in _zip_strict(starts.tolist(), ends.tolist())]
            lengths.append(ends - starts)
    return StringColumn(memoryview(b"".join(data)), list_offsets(np.concatenate(lengths)))


def _zip_strict(left: Iterable[A], right: Iterable[Z]) -> "zip[tuple[A, Z]]":
    return zip(left, right, strict=True)
