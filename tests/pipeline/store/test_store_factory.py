import asyncio
import os
import sys
import time
from pathlib import Path

import lancedb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import OutageError
from pipeline.store import StoreMismatchError, open_store
from pipeline.store.lancedb.key_filter import KeyFilter
from pipeline.store.store_factory import open_locks
from tests.support.store_rows import (
    DIMENSIONS,
    document,
    open_test_store,
    store_documents,
)

pytestmark = pytest.mark.anyio


async def test_a_store_of_another_embedder_is_refused_with_what_to_do(tmp_path: Path) -> None:
    await open_test_store(tmp_path)
    with pytest.raises(StoreMismatchError, match=r"sample with 4 dimensions.*8 dimensions.*recollect replay"):
        await open_store(str(tmp_path), dimensions=8, shards=2)
    with pytest.raises(StoreMismatchError, match="another with 4 dimensions"):
        await open_store(str(tmp_path), dimensions=DIMENSIONS, shards=2, embedder="another")


async def test_a_store_of_an_earlier_table_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    await (await open_test_store(tmp_path)).close()
    connection = await lancedb.connect_async(str(tmp_path))
    await (await connection.open_table("meta")).update({"value": "1"}, where="name = 'format'")
    ways_out = r"RECOLLECT_DATA_DIR.*RECOLLECT_LANCE_URI.*add the documents again"
    with pytest.raises(StoreMismatchError, match=rf"table format 1.*reads format 4.*{ways_out}"):
        await open_test_store(tmp_path)


async def test_shared_tables_of_the_format_before_are_opened(tmp_path: Path) -> None:
    await (await open_test_store(tmp_path, shared=True)).close()
    connection = await lancedb.connect_async(str(tmp_path))
    await (await connection.open_table("meta")).update({"value": "3"}, where="name = 'format'")
    await (await open_test_store(tmp_path, shared=True)).close()


async def test_an_object_store_without_working_leases_is_an_outage_that_names_it() -> None:
    nobody = {"endpoint": "http://127.0.0.1:9", "region": "a", "allow_http": "true"}
    nobody |= {"access_key_id": "k", "secret_access_key": "s"}
    uri = "s3://bucket/tables"
    with pytest.raises(OutageError, match=f"object store at {uri} failed"):
        await open_store(uri, dimensions=DIMENSIONS, shards=2, storage=nobody, locks=open_locks(uri, nobody))


async def test_an_existing_store_keeps_its_number_of_shards(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await open_test_store(tmp_path, shards=2)
    store = await open_test_store(tmp_path, shards=5)
    assert len(store.chunks._lance_tables) == 2
    assert "has 2 shards" in caplog.text


async def test_a_relative_folder_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    await open_test_store("some/folder")
    assert (tmp_path / "some/folder/documents.lance").is_dir()


async def test_old_temporary_files_are_swept_and_young_ones_left(tmp_path: Path) -> None:
    await open_test_store(tmp_path)
    data = tmp_path / "documents.lance/data"
    data.mkdir(exist_ok=True)
    for name, age in (("old", 2 * 86400), ("young", 60)):
        (data / f".tmp_{name}").touch()
        os.utime(data / f".tmp_{name}", (time.time() - age,) * 2)
    await open_test_store(tmp_path)
    assert [path.name for path in data.glob(".tmp*")] == [".tmp_young"]


async def test_every_new_file_is_synced_before_a_change_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_test_store(tmp_path)
    synced: set[str] = set()
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.add(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    before = _files(tmp_path)
    await store_documents(store, document("a"))
    await store.documents.wait_until_durable()
    fresh = {path.name for path in _files(tmp_path) - before}
    assert fresh
    assert fresh <= synced


def _files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@given(st.lists(st.sets(st.text(max_size=3), max_size=20), max_size=6))
def test_a_key_filter_has_no_false_negatives(batches: list[set[str]]) -> None:
    keys = KeyFilter(batches[0] if batches else ())
    for batch in batches:
        keys.add(batch)
        assert keys.may_contain(batch) == list(batch)
    everything = set().union(*batches)
    assert keys.may_contain([f"stranger {number}" for number in range(20)]) == []
    assert set(keys.may_contain(everything)) == everything


async def test_a_store_in_a_folder_loads_no_client_of_object_stores(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from pipeline.store import open_locks\n"
        "from pipeline.store.blobs.blob_store import open_blobs\n"
        "from tests.support.store_rows import open_test_store\n"
        f"asyncio.run(open_test_store({str(tmp_path / 'tables')!r}))\n"
        f"asyncio.run(open_blobs({str(tmp_path / 'blobs')!r}))\n"
        f"open_locks({str(tmp_path / 'tables')!r})\n"
        "sys.exit('obstore' in sys.modules)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0
