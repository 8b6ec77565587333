"""Pages of lists: the same order whether rows are flushed or not, and totals that agree with counts."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pipeline.rows import DocumentRow
from pipeline.store import Store
from schemas.filters import FilterExpression
from tests.support.store_rows import (
    EPOCH,
    chunk,
    document,
    exclusive_and_shared,
    memory,
    open_test_store,
    store_chunks,
    store_documents,
    store_memories,
)

pytestmark = pytest.mark.anyio

small: FilterExpression = TypeAdapter(FilterExpression).validate_python({"field": "n", "operator": "lt", "value": 3})


async def _all(store: Store, *, sort: str, descending: bool, limit: int, filtered: bool) -> tuple[list[str], int]:
    names: list[str] = []
    while True:
        page = await store.documents.page(
            ["alice#0", "alice#1"],
            filter=small if filtered else None,
            sort="updatedAt" if sort == "updatedAt" else "createdAt",
            descending=descending,
            offset=len(names),
            limit=limit,
        )
        names += [row.id for row in page.rows]
        if not page.rows:
            return names, page.total


def _expected(rows: Sequence[DocumentRow], *, sort: str, descending: bool, filtered: bool) -> list[str]:
    kept = [row for row in rows if not filtered or row.metadata["n"] in (0, 1, 2)]
    by_id = sorted(kept, key=lambda row: row.key)
    time = (lambda row: row.updated_at) if sort == "updatedAt" else (lambda row: row.created_at)
    return [row.id for row in sorted(by_id, key=time, reverse=descending)]


@exclusive_and_shared
@settings(max_examples=20, deadline=None)
@given(
    times=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=20),
    sort=st.sampled_from(["createdAt", "updatedAt"]),
    descending=st.booleans(),
    filtered=st.booleans(),
    limit=st.integers(1, 7),
)
def test_pages_of_ties_join_to_the_whole_list_flushed_or_not(
    *,
    shared: bool,
    times: list[tuple[int, int, bool]],
    sort: str,
    descending: bool,
    filtered: bool,
    limit: int,
) -> None:
    rows = [
        document(
            str(number),
            f"alice#{number % 2}",
            created_at=EPOCH + timedelta(seconds=created),
            updated_at=EPOCH + timedelta(seconds=updated),
            metadata={"n": number % 5},
        )
        for number, (created, updated, _) in enumerate(times)
    ]

    async def live() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_test_store(folder, shared=shared)
            await store_documents(store, *(row for row, (_, _, early) in zip(rows, times, strict=True) if early))
            await store.documents.wait_until_durable()
            await store_documents(store, *(row for row, (_, _, early) in zip(rows, times, strict=True) if not early))
            found, total = await _all(store, sort=sort, descending=descending, limit=limit, filtered=filtered)
            # reverse=True keeps ties in their order, so ids ascend within a tie in both directions.
            assert found == _expected(rows, sort=sort, descending=descending, filtered=filtered)
            assert total == len(found)
            if not filtered:
                assert sum(store.documents.count_by_incarnation(["alice#0", "alice#1"]).values()) == total

    asyncio.run(live())


@exclusive_and_shared
async def test_a_page_past_the_end_is_empty_and_has_the_total(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_documents(store, document("a"))
    page = await store.documents.page(["alice#0"], offset=2**60, limit=10)
    assert (page.rows, page.total) == ([], 1)
    assert (await store.documents.page([], limit=10)).total == 0


@exclusive_and_shared
async def test_texts_are_left_out_of_pages_unless_asked_for(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_documents(store, document("a", text="long"))
    await store.documents.wait_until_durable()
    assert (await store.documents.page(["alice#0"])).rows[0].text is None
    assert (await store.documents.page(["alice#0"], with_text=True)).rows[0].text == "long"


@exclusive_and_shared
async def test_chunks_are_listed_by_position_for_few_documents_and_for_many(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    for parent in ("p", "q"):
        await store_chunks(store, parent, [chunk(parent, place) for place in range(3)])
    await store.chunks.wait_until_durable()
    await store_chunks(store, "r", [chunk("r", 0)])
    many_keys = {"p", "r", *(f"other{number}" for number in range(300))}
    for documents in ({"p", "r"}, many_keys):
        page = await store.chunks.page(["alice#0"], documents=documents, sort="position", descending=False)
        assert [row.position for row in page.rows] == [0, 0, 1, 2]
        assert {row.document for row in page.rows} == {"p", "r"}
    assert (await store.chunks.page(["alice#0"], documents=[])).total == 0
    assert (await store.chunks.page(["alice#0"])).total == 7


@exclusive_and_shared
async def test_memory_lists_and_counts_agree_and_hide_inactive_memories(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    rows = [
        memory("current", ["p", "q"]),
        memory("old", ["p"], is_latest=False),
        memory("forgotten", ["q"], forgotten_at=EPOCH),
        memory("other", ["q"]),
    ]
    await store_memories(store, *rows)
    for _ in range(2):
        page = await store.memories.page(["alice#0"])
        assert sorted(row.text for row in page.rows) == ["current", "other"]
        assert store.memories.count_by_incarnation(["alice#0"]) == {"alice#0": page.total}
        assert (await store.memories.page(["alice#0"], include_forgotten=True)).total == 4
        assert await store.memories.count_by_document(["p", "q", "none"]) == {"p": 1, "q": 2, "none": 0}
        assert [row.text for row in (await store.memories.page(["alice#0"], documents=["p"])).rows] == ["current"]
        assert sorted(row.text for row in await store.memories.find_by_documents(["p"])) == ["current", "old"]
        assert await store.memories.find_by_documents([]) == []
        await store.memories.wait_until_durable()


@exclusive_and_shared
async def test_memories_are_found_by_their_keys_in_their_incarnation(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_memories(
        store, memory("one", ["p"], comparison_keys=("x", "y")), memory("two", ["q"], comparison_keys=("y",))
    )
    await store.memories.flush()
    await store_memories(
        store, memory("three", ["p"], incarnation="bob#0", comparison_keys=("x",)), memory("four", ["p"])
    )
    await store_memories(store, memory("one", ["p", "q"], comparison_keys=("x", "z")))
    for _ in range(2):
        assert await _keyed(store, "x") == {("one", ("p", "q"))}
        assert await _keyed(store, "y") == {("two", ("q",))}
        assert await _keyed(store, "x", "y", "z") == {("one", ("p", "q")), ("two", ("q",))}
        assert await _keyed(store) == set()
        await store.memories.flush()


async def _keyed(store: Store, *keys: str) -> set[tuple[str, tuple[str, ...]]]:
    return {(row.text, row.sources) for row in await store.memories.find_by_keys(["alice#0"], keys)}


@exclusive_and_shared
async def test_a_document_is_found_by_its_public_id_in_the_first_incarnation_that_has_it(
    tmp_path: Path, shared: bool
) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_documents(store, document("a", "new#0", title="new"), document("a", "old#0"), document("b", "old#0"))
    found = await store.documents.find_by_public_id(["new#0", "old#0"], ["a", "b", "c"])
    assert {name: row.incarnation for name, row in found.items()} == {"a": "new#0", "b": "old#0"}


@exclusive_and_shared
async def test_document_ids_are_found_by_prefix(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_documents(store, document("s3:con_1:b", "a#0"), document("s3:con_2:a", "a#0"))
    await store.documents.wait_until_durable()
    await store_documents(store, document("s3:con_1:a%", "a#0"), document("s3:con_1:c", "b#0"))
    assert await store.documents.ids_with_prefix("a#0", "s3:con_1:") == ["s3:con_1:a%", "s3:con_1:b"]


@pytest.mark.parametrize("flushed", [True, False])
@exclusive_and_shared
async def test_a_moved_document_with_a_new_id_is_found_by_that_id_only(
    tmp_path: Path, shared: bool, *, flushed: bool
) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_documents(store, document("a", "new#0"), replace(document("a", "old#0"), id="a~old"))
    if flushed:
        await store.documents.wait_until_durable()
    found = await store.documents.find_by_public_id(["new#0", "old#0"], ["a", "a~old", "a~new"])
    assert {name: (row.id, row.incarnation) for name, row in found.items()} == {
        "a": ("a", "new#0"),
        "a~old": ("a~old", "old#0"),
    }
    assert await store.documents.find_by_public_id(["old#0"], ["a"]) == {}


@exclusive_and_shared
async def test_documents_whose_memories_are_missing_are_found_after_a_restart(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shared=shared)
    await store_documents(store, document("a", extraction_pending=True, text="kept"), document("b"))
    await store.close()
    again = await open_test_store(tmp_path, shared=shared)
    await store_documents(again, document("c", extraction_pending=True))
    assert {row.id: row.text for row in await again.documents.pending_extraction()} == {
        "a": "kept",
        "c": None,
    }
