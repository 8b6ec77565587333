"""What two generations must agree on before one takes the other's place."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from pipeline.store import Store

SAMPLE = 100
"""Documents that are compared row for row, with their chunks and memories."""
SHOWN = 10
_RESTING = frozenset({"done", "failed"})


Tally = Mapping[str, tuple[int, int, int]]
"""How many documents, chunks and memories each space has."""


async def tally(store: Store) -> Tally:
    """Of every space that somebody owns, as it is now."""
    await store.refresh()
    return _tallied(store, [space for row in store.catalog.namespaces() for space in row.spaces])


def _tallied(store: Store, spaces: Iterable[str]) -> Tally:
    kinds = (store.documents, store.chunks, store.memories)
    documents, chunks, memories = (table.count(spaces) for table in kinds)
    return {space: (count, chunks[space], memories[space]) for space, count in documents.items()}


async def missing(old: Store, new: Store, since: Tally, *, same: bool) -> list[str]:
    """Spaces at rest whose counts differ; `same`: chunks are cut alike, so they must be as many.

    `since`: the tally of `old` before `new` was brought up to date. Where others have changed it meanwhile,
    nothing is said.
    """
    now = await tally(old)
    unmoved = {space for space, counts in now.items() if since.get(space) == counts}
    spaces = unmoved & await resting(old) & await resting(new)
    found = [
        *_miscounted("documents", old.documents.count(spaces), new.documents.count(spaces)),
        *_miscounted("memories", old.memories.count(spaces), new.memories.count(spaces)),
    ]
    chunks, cut = old.chunks.count(spaces), new.chunks.count(spaces)
    if same:
        found += _miscounted("chunks", chunks, cut)
    else:
        found += [
            f"{space}: none of {chunks[space]} chunks is left"
            for space in cut
            if chunks[space] and not cut[space]
        ]
    return found[:SHOWN]


def _miscounted(kind: str, before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    return [
        f"{space}: {before[space]} {kind} are now {after[space]}"
        for space in sorted(before)
        if before[space] != after[space]
    ]


async def resting(store: Store) -> set[str]:
    """Spaces that somebody owns and in which nothing is under way."""
    busy = {
        space for (space, status), _ in (await store.documents.states()).items() if status not in _RESTING
    }
    _, dreaming = await store.documents.scan(None, "dreaming", ["key", "space"])
    busy |= set(dreaming.column("space").to_pylist())
    busy |= {row.space for row in store.documents.unflushed(store.documents.snapshot(), None) if row.dreaming}
    owned = {space for row in store.catalog.namespaces() for space in row.spaces}
    return owned - busy


async def sampled(new: Store) -> dict[str, str]:
    """Some documents by their keys, and the space of each."""
    _, base = await new.documents.scan(None, "true", ["key", "space"])
    keys, spaces = base.column("key").to_pylist(), base.column("space").to_pylist()
    return dict(random.sample(list(zip(keys, spaces, strict=True)), min(SAMPLE, len(keys))))


async def differing(old: Store, new: Store, some: Mapping[str, str]) -> list[str]:
    """Rows of these documents that are not the same in both, field for field."""
    spaces = await resting(old) & await resting(new)
    sample = [key for key, space in some.items() if space in spaces]
    found: list[str] = []
    for kind, one, other in (("document", old.documents, new.documents), ("chunk", old.chunks, new.chunks)):
        rows, again = await one.get(sample), await other.get(sample)
        for key in sample:
            found += _unlike(kind, rows.get(key, []), again.get(key, []))
    ids = [row.id for row in await new.memories.of_documents(sample)]
    remembered, again_remembered = await old.memories.get(ids), await new.memories.get(ids)
    for one_id in ids:
        found += _unlike("memory", remembered.get(one_id, []), again_remembered.get(one_id, []))
    return found[:SHOWN]


def _unlike(kind: str, rows: Sequence[Any], again: Sequence[Any]) -> list[str]:
    if len(rows) != len(again):
        return [f"{kind}: {len(rows)} rows are now {len(again)}"]
    return [
        f"{kind} {getattr(row, 'id', '')}: {', '.join(names)} differ"
        for row, other in zip(rows, again, strict=True)
        if (names := unlike(row, other))
    ]


def unlike(row: Any, other: Any) -> list[str]:
    """The fields in which two rows differ."""
    names = [field.name for field in fields(row)]
    return [name for name in names if not _equal(getattr(row, name), getattr(other, name))]


def _equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return one == other
