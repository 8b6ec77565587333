"""The family of a memory: versions, links, sources."""

from datetime import timedelta

import numpy as np
import pytest

from api.search.related_memories import related_memories
from bench.doubles.sample_rows import memory_row
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.rows import DocumentRow, NamespaceRow
from pipeline.text.analyzer import hash_terms
from schemas.events import Relation
from schemas.http.v5.memory_bodies import MemoryIncluded, RelatedMemoryWithDocument
from tests.support.fakes import (
    EPOCH,
    UNUSED_DIR,
    FakeCatalog,
    FakeChunkTable,
    FakeDocumentTable,
    FakeMemoryTable,
)

pytestmark = pytest.mark.anyio


class Home:
    """Six versions of one fact, and one that extends the third; version n is stated by document dn."""

    def __init__(self) -> None:
        self.catalog = FakeCatalog()
        self.namespace: NamespaceRow = self.catalog.create("alice")
        self.documents, self.chunks, self.memories = FakeDocumentTable(), FakeChunkTable(), FakeMemoryTable()
        self.cache = NamespaceIndexCache(
            self.documents, self.chunks, self.memories, self.catalog, 2**20, folder=UNUSED_DIR
        )
        for version in range(1, 7):
            older = tuple(Relation(kind="updates", target=f"m{earlier}") for earlier in range(version - 1, 0, -1))
            self._add(f"m{version}", version, older, is_latest=version == 6)
        self._add("x", 1, (Relation(kind="extends", target="m3"),), is_latest=True)

    def _add(self, name: str, version: int, relations: tuple[Relation, ...], *, is_latest: bool) -> None:
        at = EPOCH + timedelta(minutes=version)
        key = f"d{name}"
        document = DocumentRow(key, "alice#0", key, 0, 0, EPOCH, EPOCH, title=name, metadata={"n": name})
        fields = {"version": version, "relations": relations, "is_latest": is_latest, "incarnation": "alice#0"}
        vector = np.zeros(4, np.float32)
        row = memory_row(name, f"Fact {name}", [key], at, vector=vector, terms=hash_terms(name), **fields)
        self.documents.rows_by_key[key] = [document]
        self.memories.rows_by_key[name] = [row]

    async def ask(self, name: str, *include: str, limit: int = 10) -> MemoryIncluded:
        row = self.memories.rows_by_key[name][0]
        return await related_memories(
            self.cache, self.memories, self.documents, self.namespace, row, include=include, limit=limit
        )


def ids(entries: list[RelatedMemoryWithDocument]) -> list[str]:
    return [entry.id for entry in entries]


async def test_earlier_and_later_versions_are_three_steps_nearest_first() -> None:
    family = (await Home().ask("m5", "related")).related
    assert family is not None
    assert (ids(family.parents), ids(family.children)) == (["m4", "m3", "m2"], ["m6"])
    family = (await Home().ask("m1", "related")).related
    assert family is not None
    assert (ids(family.parents), ids(family.children)) == ([], ["m2", "m3", "m4"])


async def test_direct_links_are_siblings_in_both_directions() -> None:
    home = Home()
    for name, other in (("m3", "x"), ("x", "m3")):
        family = (await home.ask(name, "related")).related
        assert family is not None
        assert [(related.id, related.relation) for related in family.siblings] == [(other, "extends")]


async def test_the_limit_bounds_each_list() -> None:
    family = (await Home().ask("m3", "related", limit=1)).related
    assert family is not None
    assert (ids(family.parents), ids(family.children), ids(family.siblings)) == (["m2"], ["m4"], ["x"])


async def test_only_what_was_asked_for_is_there() -> None:
    home = Home()
    assert (await home.ask("m2", "related")).model_dump(exclude_unset=True).keys() == {"related"}
    only = await home.ask("m2", "documents")
    assert only.model_dump(exclude_unset=True).keys() == {"document"}
    both = await home.ask("m2", "related", "documents")
    assert both.related is not None
    assert [parent.document.id for parent in both.related.parents if parent.document] == ["dm1"]
    assert both.related.parents[0].metadata == {"n": "m1"}
