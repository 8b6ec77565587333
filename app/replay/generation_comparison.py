"""Comparison of two generations before one replaces the other."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from pipeline.store import Store

SAMPLE_SIZE = 100
"""Number of documents that are compared row by row, with their chunks and memories."""
MAX_REPORTED = 10
_TERMINAL_STATUSES = frozenset({"done", "failed"})


RowCounts = Mapping[str, tuple[int, int, int]]
"""Numbers of documents, chunks and memories by incarnation."""


async def count_rows(store: Store) -> RowCounts:
    """Count the rows of every owned incarnation, as of now."""
    await store.refresh()
    owned = store.catalog.incarnations()
    kinds = (store.documents, store.chunks, store.memories)
    documents, chunks, memories = (table.count_by_incarnation(owned) for table in kinds)
    return {
        incarnation: (count, chunks[incarnation], memories[incarnation]) for incarnation, count in documents.items()
    }


async def count_differences(old: Store, new: Store, counts_before: RowCounts, *, same_config: bool) -> list[str]:
    """Describe idle incarnations whose row counts differ.

    `counts_before`: counts of `old` before `new` was brought up to date; incarnations that changed since are
    skipped. `same_config`: documents are split alike, so the chunks must be equal in number too.
    """
    counts_now = await count_rows(old)
    unchanged = {key for key, counts in counts_now.items() if counts_before.get(key) == counts}
    incarnations = unchanged & await idle_incarnations(old) & await idle_incarnations(new)
    chunks_before = old.chunks.count_by_incarnation(incarnations)
    chunks_after = new.chunks.count_by_incarnation(incarnations)
    differences = [
        *_count_mismatches(
            "documents",
            old.documents.count_by_incarnation(incarnations),
            new.documents.count_by_incarnation(incarnations),
        ),
        *_count_mismatches(
            "memories", old.memories.count_by_incarnation(incarnations), new.memories.count_by_incarnation(incarnations)
        ),
        *(_count_mismatches("chunks", chunks_before, chunks_after) if same_config else ()),
    ]
    if not same_config:
        differences += [
            f"{incarnation}: none of {chunks_before[incarnation]} chunks is left"
            for incarnation in chunks_after
            if chunks_before[incarnation] and not chunks_after[incarnation]
        ]
    return differences[:MAX_REPORTED]


def _count_mismatches(kind: str, before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    return [
        f"{incarnation}: {before[incarnation]} {kind} are now {after[incarnation]}"
        for incarnation in sorted(before)
        if before[incarnation] != after[incarnation]
    ]


async def idle_incarnations(store: Store) -> set[str]:
    """Return owned incarnations without documents in progress."""
    busy = {
        incarnation
        for (incarnation, status), _ in (await store.documents.count_by_status()).items()
        if status not in _TERMINAL_STATUSES
    }
    _, pending = await store.documents.scan(None, "extraction_pending", ["key", "incarnation"])
    busy |= set(pending.column("incarnation").to_pylist())
    busy |= {
        row.incarnation
        for row in store.documents.unflushed_rows(store.documents.memtable_snapshot(), None)
        if row.extraction_pending
    }
    return set(store.catalog.incarnations()) - busy


async def sample_documents(new: Store) -> dict[str, str]:
    """Choose documents at random; maps their keys to their incarnations."""
    _, base = await new.documents.scan(None, "true", ["key", "incarnation"])
    keys, incarnations = base.column("key").to_pylist(), base.column("incarnation").to_pylist()
    return dict(random.sample(list(zip(keys, incarnations, strict=True)), min(SAMPLE_SIZE, len(keys))))


async def row_differences(old: Store, new: Store, sample: Mapping[str, str]) -> list[str]:
    """Describe rows of the sampled documents that differ between the generations in any field."""
    incarnations = await idle_incarnations(old) & await idle_incarnations(new)
    keys = [key for key, incarnation in sample.items() if incarnation in incarnations]
    differences: list[str] = []
    tables = (("document", old.documents, new.documents), ("chunk", old.chunks, new.chunks))
    for kind, old_table, new_table in tables:
        old_rows, new_rows = await old_table.get(keys), await new_table.get(keys)
        for key in keys:
            differences += _describe_differences(kind, old_rows.get(key, []), new_rows.get(key, []))
    ids = [row.id for row in await new.memories.find_by_documents(keys)]
    old_memories, new_memories = await old.memories.get(ids), await new.memories.get(ids)
    for memory in ids:
        rows, new_versions = old_memories.get(memory, []), new_memories.get(memory, [])
        differences += _describe_differences("memory", rows, new_versions)
    return differences[:MAX_REPORTED]


def _describe_differences(kind: str, rows: Sequence[Any], other_rows: Sequence[Any]) -> list[str]:
    if len(rows) != len(other_rows):
        return [f"{kind}: {len(rows)} rows are now {len(other_rows)}"]
    return [
        f"{kind} {getattr(row, 'id', '')}: {', '.join(names)} differ"
        for row, other in zip(rows, other_rows, strict=True)
        if (names := differing_fields(row, other))
    ]


def differing_fields(row: Any, other: Any) -> list[str]:
    names = [field.name for field in fields(row)]
    return [name for name in names if not _equal(getattr(row, name), getattr(other, name))]


def _equal(left: object, right: object) -> bool:
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    return left == right
