"""A namespace index as named arrays and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.segments.array_file import NamedArrays, from_arrays, to_arrays
from pipeline.index.segments.binary_quantization import SignBitCodes
from pipeline.index.segments.common_part import LengthCache
from pipeline.index.segments.document_ordinal_map import SortedKeys
from pipeline.index.segments.document_store import DocumentStore, StoredDocuments
from pipeline.index.segments.key_postings import KeyPostings
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.index.segments.postings import Postings
from pipeline.index.segments.segment import C, ParentDocuments, RowLookup, Segment, merge_segments
from pipeline.rows import ChunkColumns, DocumentColumns, MemoryColumns


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

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Structure and arrays, without anything of deleted rows. Call it in a thread."""
        documents = self.documents.stored_documents()
        arrays = _under("documents", _document_arrays(documents))
        structure: dict[str, Any] = {"blocks": len(documents.blocks)}
        structure["chunks"], chunks = _segment_list_arrays(self.chunks)
        structure["memories"], memories = _segment_list_arrays(self.memories)
        return structure, arrays | _under("chunks", chunks) | _under("memories", memories)


def restore_index(
    structure: Mapping[str, Any], arrays: NamedArrays, limit_bytes: int, store: MmapStore
) -> NamespaceIndex:
    """The index of mapped arrays. One above the limit counts as mapped, and maps what comes later by `store`."""
    documents = _documents(structure["blocks"], _below(arrays, "documents"))
    chunks = _segments(ChunkColumns, structure["chunks"], _below(arrays, "chunks"))
    memories = _segments(MemoryColumns, structure["memories"], _below(arrays, "memories"))
    index = NamespaceIndex(DocumentStore.restore(documents))
    index.chunks.restore(chunks)
    index.memories.restore(memories)
    if index.nbytes <= limit_bytes:
        return index
    mapped = NamespaceIndex(DocumentStore.restore(documents, store))
    mapped.chunks.restore(replace(segment, is_spilled=True) for segment in chunks)
    mapped.memories.restore(replace(segment, is_spilled=True) for segment in memories)
    mapped.spill_to_disk(store)
    return mapped


def _segment_list_arrays(segments: Sequence[Segment[C]]) -> tuple[list[int | None], dict[str, NDArray[Any]]]:
    """The arrays of the live rows of each segment, and which common part their lengths are for."""
    live = [merge_segments([segment]) if segment.deleted.any() else segment for segment in segments]
    kept = [segment for segment in live if len(segment)]
    arrays: dict[str, NDArray[Any]] = {}
    for number, segment in enumerate(kept):
        arrays |= _under(str(number), _segment_arrays(segment))
    return [segment.length_cache.common_part for segment in kept], arrays


def _segments(kind: type[C], common_parts: Sequence[int | None], arrays: NamedArrays) -> list[Segment[C]]:
    return [_segment(kind, _below(arrays, str(number)), part) for number, part in enumerate(common_parts)]


def _document_arrays(documents: StoredDocuments) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "present": documents.present,
        "changed_ordinals": documents.changed_ordinals,
        **_under("keys", to_arrays(documents.keys)),
        **_under("changed", to_arrays(documents.changed)),
    }
    for number, block in enumerate(documents.blocks):
        arrays |= _under(f"blocks/{number}", to_arrays(block))
    return arrays


def _documents(blocks: int, arrays: NamedArrays) -> StoredDocuments:
    return StoredDocuments(
        from_arrays(SortedKeys, _below(arrays, "keys")),
        [from_arrays(DocumentColumns, _below(arrays, f"blocks/{number}")) for number in range(blocks)],
        from_arrays(DocumentColumns, _below(arrays, "changed")),
        arrays["changed_ordinals"],
        arrays["present"],
    )


def _segment_arrays(segment: Segment[C]) -> dict[str, NDArray[Any]]:
    parts: dict[str, object | None] = {
        "columns": segment.columns,
        "postings": segment.postings,
        "parents": segment.parents,
        "codes": segment.vector_codes,
        "keys": segment.key_postings,
    }
    arrays: dict[str, NDArray[Any]] = {"lengths": segment.length_cache.stored}
    for name, part in parts.items():
        if part is not None:
            arrays |= _under(name, to_arrays(part))
    return arrays


def _segment(kind: type[C], arrays: NamedArrays, common_part: int | None) -> Segment[C]:
    codes, keys = _below(arrays, "codes"), _below(arrays, "keys")
    columns = from_arrays(kind, _below(arrays, "columns"))
    return Segment(
        columns=columns,
        postings=from_arrays(Postings, _below(arrays, "postings")),
        parents=from_arrays(ParentDocuments, _below(arrays, "parents")),
        deleted=np.zeros(len(columns.ids), np.bool_),
        lookup=RowLookup(columns),
        vector_codes=from_arrays(SignBitCodes, codes) if codes else None,
        key_postings=from_arrays(KeyPostings, keys) if keys else None,
        length_cache=LengthCache(common_part, arrays["lengths"]),
    )


def _under(prefix: str, arrays: NamedArrays) -> dict[str, NDArray[Any]]:
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def _below(arrays: NamedArrays, prefix: str) -> dict[str, NDArray[Any]]:
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
