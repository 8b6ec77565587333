"""The store on a real S3 server: the same answers as in a folder, for one process and for several."""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from pipeline.rows import ChunkRow
from pipeline.store import Store
from tests.pipeline.store.test_table_model import apply_step, assert_store_matches, steps
from tests.support.planted_words import found_in_object_store
from tests.support.shared_table_writer import NAMES
from tests.support.store_rows import (
    chunk,
    exclusive_and_shared,
    full_document,
    full_memory,
    open_test_store,
    store_chunks,
    store_documents,
    store_memories,
    to_comparable,
)
from tools.s3_server import S3Server

pytestmark = pytest.mark.anyio

_CHECKOUT = Path(__file__).parents[3]


@exclusive_and_shared
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=steps)
def test_a_table_equals_a_dictionary_after_any_history(
    s3: S3Server, shared: bool, history: list[tuple[object, ...]]
) -> None:
    async def live() -> None:
        uri = s3.unused_uri()

        async def again() -> Store:
            return await open_test_store(uri, shared=shared, storage=s3.options)

        store = await again()
        model: dict[str, list[ChunkRow]] = {}
        for step in history:
            store = await apply_step(store, step, model, again)
        await assert_store_matches(store, model)
        await store.close()
        await assert_store_matches(await again(), model)

    asyncio.run(live())


@exclusive_and_shared
async def test_every_field_survives(s3: S3Server, shared: bool) -> None:
    uri = s3.unused_uri()
    store = await open_test_store(uri, shared=shared, storage=s3.options)
    row, fact = full_document(), full_memory("source")
    await store_documents(store, row)
    await store_chunks(store, "parent", [chunk("parent", 0)])
    await store_memories(store, fact)
    await store.close()
    again = await open_test_store(uri, shared=shared, storage=s3.options)
    assert (await again.documents.get([row.key]))[row.key] == [row]
    assert to_comparable((await again.chunks.get(["parent"]))["parent"][0]) == to_comparable(chunk("parent", 0))
    assert to_comparable((await again.memories.get([fact.id]))[fact.id][0]) == to_comparable(fact)
    assert (await again.documents.page(["alice#0"])).total == 1


async def test_processes_that_change_the_same_rows_lose_nothing(s3: S3Server) -> None:
    uri, turns = s3.unused_uri(), 6
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.support.shared_table_writer", uri, str(number), str(turns),
            cwd=_CHECKOUT, env={**os.environ, **s3.environment_variables}, stdout=asyncio.subprocess.DEVNULL,
        )
        for number in range(2)
    ]  # fmt: skip
    assert await asyncio.gather(*(writer.wait() for writer in writers)) == [0, 0]
    store = await open_test_store(uri, shared=True, storage=s3.options)
    documents = await store.documents.list_rows(["alice#0"])
    assert sum(row.seq for row in documents) == 2 * turns * 2
    assert len({row.key for row in documents}) == len(documents)
    chunks = await store.chunks.get(NAMES)
    assert sum(rows[0].seq for rows in chunks.values()) == 2 * turns
    for rows in chunks.values():
        assert [row.text for row in rows] == [f"{rows[0].seq} {place}" for place in range(len(rows))]


async def test_deleted_rows_are_in_no_object_after_an_erasure(s3: S3Server) -> None:
    uri = s3.unused_uri()
    store = await open_test_store(uri, shared=True, storage=s3.options)
    await store_chunks(store, "a", [chunk("a", place, text=f"zyxochunkq {place}") for place in range(3)])
    await store_chunks(store, "b", [chunk("b", 0, text="zyxokeptq")])
    await store.chunks.update(["a"], lambda _, __: [])
    assert await found_in_object_store(uri, s3.options, ["zyxochunkq"])
    await store.erase_deleted_rows()
    await store.drop_old_versions(timedelta(milliseconds=1))
    found = await found_in_object_store(uri, s3.options, ["zyxochunkq", "zyxokeptq"])
    assert found.keys() == {"zyxokeptq"}
