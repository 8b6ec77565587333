"""Segments: some thousand rows of one kind, inverted, never changed; what is deleted is only marked."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.columns import prints, texts
from pipeline.index.codes import Codes
from pipeline.index.keys import Keys
from pipeline.index.postings import Postings, invert, merge
from pipeline.index.shelf import Shelf
from pipeline.rows import ChunkColumns, MemoryColumns, Terms, Texts
from schemas.events import RelationKind

A = TypeVar("A")
Z = TypeVar("Z")
C = TypeVar("C", ChunkColumns, MemoryColumns)

NO_TERMS: Terms = np.zeros(0, np.uint32)
NO_OFFSETS: NDArray[np.int64] = np.zeros(1, np.int64)
NO_OWNERS: NDArray[np.int32] = np.zeros(0, np.int32)
_RAGGED = {"terms": "term_offsets", "keys": "key_offsets"}
"""Columns of many values a row, and where those of each row begin."""
_NO_TEXTS = Texts(memoryview(b""), NO_OFFSETS)
CODED_ROWS = 4_096
"""Segments of so many rows get codes: in smaller ones every row is looked at anyway."""


class Lookup:
    """Finds rows by id and by what they relate to; built when first asked, without an object for each row."""

    def __init__(self, columns: ChunkColumns | MemoryColumns) -> None:
        memories = columns if isinstance(columns, MemoryColumns) else None
        self._ids = columns.ids
        self._relations = None if memories is None else memories.relations
        self._versions = None if memories is None else memories.versions

    @cached_property
    def links(self) -> dict[str, list[tuple[int, RelationKind]]]:
        """By the id of a memory: the rows that relate to it, and how."""
        found: dict[str, list[tuple[int, RelationKind]]] = {}
        if self._relations is None:
            return found
        for row in np.flatnonzero(np.diff(self._relations.offsets)).tolist():
            for relation in json.loads(self._relations[row]):
                found.setdefault(relation["target"], []).append((row, relation["kind"]))
        return found

    @cached_property
    def updating(self) -> dict[str, list[int]]:
        """By the id of a memory: the rows that update it. Few have a version of more than 1."""
        found: dict[str, list[int]] = {}
        if self._relations is None or self._versions is None:
            return found
        for row in np.flatnonzero(self._versions > 1).tolist():
            for relation in json.loads(self._relations[row] or "[]"):
                if relation["kind"] == "updates":
                    found.setdefault(relation["target"], []).append(row)
        return found

    @cached_property
    def _prints(self) -> NDArray[np.uint32]:
        return prints(self._ids)

    def find(self, wanted: Collection[str]) -> list[int]:
        """The rows that have one of these ids."""
        if not len(self._ids) or not wanted:
            return []
        among = set(wanted)
        alike = np.flatnonzero(np.isin(self._prints, prints(texts(wanted))))
        return [row for row in alike.tolist() if self._ids[row] in among]


@dataclass(frozen=True, slots=True)
class Owners:
    """The ordinals of the documents each row belongs to; `rows` None: one for each row, in order."""

    documents: NDArray[np.int32]
    rows: NDArray[np.int32] | None = None

    def of(self, row: int) -> list[int]:
        """The ordinals of a row's documents, in their order."""
        if self.rows is None:
            return [int(self.documents[row])]
        own: list[int] = self.documents[slice(*self.rows.searchsorted([row, row + 1]))].tolist()
        return own

    def has_any(self, documents: NDArray[np.intp]) -> bool:
        """Whether a row belongs to any of these documents."""
        # Documents that came last have the highest ordinals: most segments are older than all of them.
        if not len(self.documents) or documents.min() > self.documents.max():
            return False
        return bool(np.isin(self.documents, documents).any())

    def first_present(self, present: NDArray[np.bool_], count: int) -> NDArray[np.int32]:
        """For each of `count` rows its first document that is there; NOBODY (0) for none."""
        if self.rows is None:
            return self.documents
        there = np.flatnonzero(present[self.documents])[::-1]
        first = np.zeros(count, np.int32)
        # Backwards, so that the first document of a row is written last.
        first[self.rows[there]] = self.documents[there]
        return first


@dataclass(frozen=True, eq=False)
class Segment(Generic[C]):
    """Rows of one kind. `columns` have no terms, keys or owners: what is said of them beside is shorter."""

    columns: C
    postings: Postings
    owners: Owners
    dead: NDArray[np.bool_]
    lookup: Lookup
    codes: Codes | None = None
    keys: Keys | None = None
    """Of memories."""
    mapped: bool = False
    """Whether columns, postings and keys lie in a file."""

    def __len__(self) -> int:
        return len(self.dead)

    @property
    def nbytes(self) -> int:
        """Bytes held; what is mapped is not."""
        held = self.owners.documents.nbytes + self.dead.nbytes + 4 * len(self)
        held += self.codes.nbytes if self.codes else 0
        if self.mapped:
            return held
        held += self.postings.nbytes + (self.keys.nbytes if self.keys else 0)
        for one in fields(self.columns):
            value = getattr(self.columns, one.name)
            held += value.data.nbytes + value.offsets.nbytes if isinstance(value, Texts) else value.nbytes
        return held

    def without(self, rows: Sequence[int] | NDArray[np.intp]) -> "Segment[C]":
        """The same segment with these rows dead."""
        dead = self.dead.copy()
        dead[rows] = True
        return replace(self, dead=dead)

    def shelved(self, shelf: Shelf) -> "Segment[C]":
        """The same segment, mapped."""
        columns = shelf.put(self.columns)
        return replace(
            self,
            columns=columns,
            postings=shelf.put(self.postings),
            lookup=Lookup(columns),
            keys=None if self.keys is None else shelf.put(self.keys),
            mapped=True,
        )


def pieces(columns: C, size: int) -> Iterator[C]:
    """The same rows, at most `size` at a time; views, not copies."""
    for start in range(0, len(columns.ids), size):
        yield columns if len(columns.ids) <= size else _slice(columns, start, start + size)


def segment(columns: C, owners: Owners) -> Segment[C]:
    """Invert rows as they came from the store."""
    return Segment(
        columns=_stripped(columns),
        postings=invert(columns.terms, columns.term_offsets),
        owners=owners,
        dead=np.zeros(len(columns.ids), np.bool_),
        lookup=Lookup(columns),
        codes=_codes(columns),
        keys=_keys(columns),
    )


def joined(parts: Sequence[Segment[C]]) -> Segment[C]:
    """One segment of the living rows of several, in their order."""
    alive = [~part.dead for part in parts]
    columns = concatenate([part.columns for part in parts], alive)
    keys = [(part.keys, keep) for part, keep in _pairs(parts, alive) if part.keys is not None]
    return Segment(
        columns=columns,
        postings=merge([(part.postings, keep) for part, keep in zip(parts, alive, strict=True)]),
        owners=_joined_owners(parts, alive),
        dead=np.zeros(len(columns.ids), np.bool_),
        lookup=Lookup(columns),
        codes=_codes(columns),
        keys=Keys.merged(keys) if keys else None,
    )


def concatenate(parts: Sequence[C], keep: Sequence[NDArray[np.bool_]] | None = None) -> C:
    """Columns one after another, only the kept rows; always a copy, so that no buffer of the store stays."""
    first = parts[0]
    masks: Sequence[NDArray[np.bool_] | None] = keep if keep is not None else [None] * len(parts)
    values: dict[str, Any] = {}
    for one in fields(first):
        columns = [getattr(part, one.name) for part in parts]
        if one.name in _RAGGED:
            values[one.name] = np.concatenate(columns)
        elif one.name in _RAGGED.values():
            values[one.name] = _offsets(np.concatenate([np.diff(column) for column in columns]))
        elif isinstance(columns[0], Texts):
            values[one.name] = _texts(columns, masks)
        else:
            kept = [column if mask is None else column[mask] for column, mask in _pairs(columns, masks)]
            values[one.name] = np.concatenate(kept)
    return type(first)(**values)


def _slice(columns: C, start: int, stop: int) -> C:
    values: dict[str, Any] = {}
    for one in fields(columns):
        value = getattr(columns, one.name)
        values[one.name] = (
            Texts(value.data, value.offsets[start : stop + 1])
            if isinstance(value, Texts)
            else value[start:stop]
        )
    for name, offsets in _RAGGED.items():
        if offsets in values:
            bounds = getattr(columns, offsets)[start : stop + 1]
            values[name] = getattr(columns, name)[bounds[0] : bounds[-1]]
            values[offsets] = bounds - bounds[0]
    return type(columns)(**values)


def _joined_owners(parts: Sequence[Segment[C]], alive: Sequence[NDArray[np.bool_]]) -> Owners:
    if parts[0].owners.rows is None:
        return Owners(np.concatenate([part.owners.documents[keep] for part, keep in _pairs(parts, alive)]))
    documents, rows, start = [], [], 0
    for part, keep in _pairs(parts, alive):
        owner_rows = part.owners.rows
        if owner_rows is not None:
            kept = keep[owner_rows]
            number = np.cumsum(keep, dtype=np.int32) - 1 + start
            documents.append(part.owners.documents[kept])
            rows.append(number[owner_rows[kept]])
        start += int(np.count_nonzero(keep))
    return Owners(np.concatenate(documents), np.concatenate(rows))


def _keys(columns: ChunkColumns | MemoryColumns) -> Keys | None:
    return Keys.of(columns.keys, columns.key_offsets) if isinstance(columns, MemoryColumns) else None


def _codes(columns: ChunkColumns | MemoryColumns) -> Codes | None:
    worth = len(columns.ids) >= CODED_ROWS and columns.vectors.shape[1] > 0
    return Codes.of(columns.vectors) if worth else None


def _stripped(columns: C) -> C:
    if isinstance(columns, ChunkColumns):
        return replace(columns, terms=NO_TERMS, term_offsets=NO_OFFSETS, documents=_NO_TEXTS)
    return replace(
        columns,
        terms=NO_TERMS,
        term_offsets=NO_OFFSETS,
        sources=_NO_TEXTS,
        keys=NO_TERMS,
        key_offsets=NO_OFFSETS,
    )


def _texts(columns: Sequence[Texts], masks: Sequence[NDArray[np.bool_] | None]) -> Texts:
    data: list[memoryview] = []
    lengths: list[NDArray[np.int64]] = []
    for column, mask in _pairs(columns, masks):
        if mask is None or not len(column) or mask.all():
            data.append(column.data[int(column.offsets[0]) : int(column.offsets[-1])])
            lengths.append(np.diff(column.offsets))
        else:
            rows = np.flatnonzero(mask)
            starts, ends = column.offsets[rows], column.offsets[rows + 1]
            data += [column.data[start:end] for start, end in _pairs(starts.tolist(), ends.tolist())]
            lengths.append(ends - starts)
    return Texts(memoryview(b"".join(data)), _offsets(np.concatenate(lengths)))


def _pairs(one: Iterable[A], other: Iterable[Z]) -> "zip[tuple[A, Z]]":
    return zip(one, other, strict=True)


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
