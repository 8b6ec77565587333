import asyncio
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import lancedb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import OutageError
from pipeline.store import StoreMismatchError, open_store
from pipeline.store.keyset import KeySet
from pipeline.store.opening import open_locks
from tests.pipeline.store.samples import (
    DIMENSIONS,
    document,
    full_memory,
    memory,
    opened,
    store_documents,
    store_memories,
)

pytestmark = pytest.mark.anyio


async def test_a_store_of_another_embedder_is_refused_with_what_to_do(tmp_path: Path) -> None:
    await opened(tmp_path)
    with pytest.raises(StoreMismatchError, match=r"sample with 4 dimensions.*8 dimensions.*recollect replay"):
        await open_store(str(tmp_path), dimensions=8, shards=2)
    with pytest.raises(StoreMismatchError, match="another with 4 dimensions"):
        await open_store(str(tmp_path), dimensions=DIMENSIONS, shards=2, embedder="another")


async def test_an_object_store_that_leases_can_not_stand_on_is_an_outage_that_names_it() -> None:
    nobody = {"endpoint": "http://127.0.0.1:9", "region": "a", "allow_http": "true"}
    nobody |= {"access_key_id": "k", "secret_access_key": "s"}
    uri = "s3://bucket/tables"
    with pytest.raises(OutageError, match=f"object store at {uri} failed"):
        await open_store(uri, dimensions=DIMENSIONS, shards=2, storage=nobody, locks=open_locks(uri, nobody))


async def test_columns_that_a_table_was_made_without_are_added(tmp_path: Path) -> None:
    store = await opened(tmp_path, shards=1)
    old, new = memory("old", ["a"]), full_memory("a")
    await store_memories(store, old, memory("left alone", ["a"], keys=("x",)))
    await store.close()
    connection = await lancedb.connect_async(str(tmp_path))
    await (await connection.open_table("memories")).drop_columns(["statements", "keys"])
    store = await opened(tmp_path, shards=1)
    await store.memories.update([new.id], lambda _, __: [new])
    await store.memories.update([old.id], lambda _, rows: [replace(rows[0], version=2)])
    await store.close()
    store = await opened(tmp_path, shards=1)
    rows = {row.id: row for row in await store.memories.in_spaces(["alice#0"])}
    assert (rows[old.id].version, rows[old.id].statements) == (2, ())
    assert rows[new.id].statements == new.statements
    [facts] = [batch async for batch in store.memories.stream(["alice#0"])]
    keys = dict(zip(facts.texts, np.diff(facts.key_offsets), strict=True))
    assert keys == {"old": 0, "left alone": 0, new.text: len(new.keys)}


async def test_the_number_of_shards_stays_what_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await opened(tmp_path, shards=2)
    store = await opened(tmp_path, shards=5)
    assert len(store.chunks._bases) == 2
    assert "has 2 shards" in caplog.text


async def test_a_relative_folder_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    await opened("some/folder")
    assert (tmp_path / "some/folder/documents.lance").is_dir()


async def test_old_temporary_files_are_swept_and_young_ones_left(tmp_path: Path) -> None:
    await opened(tmp_path)
    data = tmp_path / "documents.lance/data"
    data.mkdir(exist_ok=True)
    for name, age in (("old", 2 * 86400), ("young", 60)):
        (data / f".tmp_{name}").touch()
        os.utime(data / f".tmp_{name}", (time.time() - age,) * 2)
    await opened(tmp_path)
    assert [path.name for path in data.glob(".tmp*")] == [".tmp_young"]


async def test_every_new_file_is_synced_before_a_change_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(tmp_path)
    synced: set[str] = set()
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.add(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    before = _files(tmp_path)
    await store_documents(store, document("a"))
    await store.documents.durable()
    fresh = {path.name for path in _files(tmp_path) - before}
    assert fresh
    assert fresh <= synced


def _files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@given(st.lists(st.sets(st.text(max_size=3), max_size=20), max_size=6))
def test_a_key_set_knows_every_key_that_was_added(batches: list[set[str]]) -> None:
    keys = KeySet(batches[0] if batches else ())
    for batch in batches:
        keys.add(batch)
        assert keys.known(batch) == list(batch)
    everything = set().union(*batches)
    assert keys.known([f"stranger {number}" for number in range(20)]) == []
    assert set(keys.known(everything)) == everything


async def test_a_store_in_a_folder_loads_no_client_of_object_stores(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from pipeline.store import open_locks\n"
        "from pipeline.store.blobs import open_blobs\n"
        "from tests.pipeline.store.samples import opened\n"
        f"asyncio.run(opened({str(tmp_path / 'tables')!r}))\n"
        f"asyncio.run(open_blobs({str(tmp_path / 'blobs')!r}))\n"
        f"open_locks({str(tmp_path / 'tables')!r})\n"
        "sys.exit('obstore' in sys.modules)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0
