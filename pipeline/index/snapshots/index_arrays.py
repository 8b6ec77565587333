"""A namespace index as arrays and back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.segments.array_file import AnyArray, put_together, take_apart
from pipeline.index.segments.binary_quantization import SignBitCodes
from pipeline.index.segments.common_part import LengthCache
from pipeline.index.segments.document_ordinal_map import SortedKeys
from pipeline.index.segments.document_store import DocumentStore, StoredDocuments
from pipeline.index.segments.key_postings import KeyPostings
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.index.segments.postings import Postings
from pipeline.index.segments.segment import C, ParentDocuments, Segment, merge_segments
from pipeline.rows import ChunkColumns, DocumentColumns, MemoryColumns

_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        StoredDocuments, SortedKeys, DocumentColumns, ChunkColumns, MemoryColumns, Postings, ParentDocuments,
        SignBitCodes, KeyPostings, LengthCache,
    )
}  # fmt: skip
"""Dataclasses that an index is made of."""


@dataclass(frozen=True, slots=True)
class CapturedIndex:
    """The rows of an index at one moment; later changes do not affect them."""

    documents: DocumentStore
    chunks: Sequence[Segment[ChunkColumns]]
    memories: Sequence[Segment[MemoryColumns]]
    revision: int

    @property
    def is_spilled(self) -> bool:
        """True when the index was mapped from disk."""
        return self.documents.is_spilled

    @classmethod
    def capture(cls, index: NamespaceIndex) -> "CapturedIndex":
        """Take the rows; quick, as segments never change."""
        return cls(
            index.documents.copy(),
            [view.segment for view in index.chunks.snapshot()],
            [view.segment for view in index.memories.snapshot()],
            index.revision,
        )

    def to_arrays(self) -> tuple[Any, list[AnyArray]]:
        """Structure and arrays, without anything of deleted rows. Call it in a thread."""
        arrays: list[AnyArray] = []
        parts = [self.documents.stored_documents(), _live_parts(self.chunks), _live_parts(self.memories)]
        return take_apart(parts, arrays), arrays


def restore_index(structure: Any, arrays: Sequence[AnyArray], limit_bytes: int, store: MmapStore) -> NamespaceIndex:
    """The index of mapped arrays. One above the limit counts as mapped, and maps what comes later by `store`."""
    documents, chunks, memories = put_together(structure, arrays, _KINDS)
    chunk_segments, memory_segments = (list(map(_segment, parts)) for parts in (chunks, memories))
    index = NamespaceIndex(DocumentStore.restore(documents))
    index.chunks.restore(chunk_segments)
    index.memories.restore(memory_segments)
    if index.nbytes <= limit_bytes:
        return index
    mapped = NamespaceIndex(DocumentStore.restore(documents, store))
    mapped.chunks.restore(replace(segment, is_spilled=True) for segment in chunk_segments)
    mapped.memories.restore(replace(segment, is_spilled=True) for segment in memory_segments)
    mapped.spill_to_disk(store)
    return mapped


def _segment(parts: Sequence[Any]) -> Segment[Any]:
    columns, postings, parents, codes, keys, lengths = parts
    return Segment.of(columns, postings, parents, vector_codes=codes, key_postings=keys, length_cache=lengths)


def _live_parts(segments: Sequence[Segment[C]]) -> list[list[object]]:
    """The parts of the live rows of each segment that has any, for `_segment`."""
    live = [
        merge_segments([segment]) if segment.deleted.any() else segment
        for segment in segments
        if not segment.deleted.all()
    ]
    return [
        [part.columns, part.postings, part.parents, part.vector_codes, part.key_postings, part.length_cache]
        for part in live
    ]
