"""Open the store, verify an existing one, and open the locks of its users."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb

from pipeline.ports import Locks, Tombstones
from pipeline.store.lancedb.sharded_table import ShardedTable
from pipeline.store.lancedb.store_properties import (
    StoreProperties,
    create_or_verify_properties,
    verify_properties,
)
from pipeline.store.lancedb.table_access import connect
from pipeline.store.lancedb.table_directory import ensure_local_folder
from pipeline.store.multi_process.folder_locks import FolderLocks
from pipeline.store.multi_process.shard_committer import SharingOptions
from pipeline.store.multi_process.version_stamped_table import BulkLoadTable
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from pipeline.store.single_process.write_ahead_log import WriteAheadLog
from pipeline.store.store import Store
from pipeline.store.table_factory import ExclusiveTableFactory, SharedTableFactory
from pipeline.store.tables import chunk_table, document_table, keyed_tables, memory_table
from pipeline.store.tables.keyed_tables import AnswerRepository, RowRepository, SharedTombstones
from pipeline.store.tables.settings_catalog import SettingsCatalog
from pipeline.tombstones import LocalTombstones

_INDEX_CACHE_BYTES = 16 * 1024 * 1024
_METADATA_CACHE_BYTES = 8 * 1024 * 1024
_FOLDER_POLL_SECONDS = 0.05
_OBJECT_STORE_POLL_SECONDS = 1.0
"""Looking for changes of a table takes microseconds in a folder, and a request at an object store."""


async def open_store(
    uri: str,
    *,
    dimensions: int,
    shards: int,
    embedder: str | None = None,
    locks: Locks | None = None,
    storage: Mapping[str, str] | None = None,
    tombstones: Tombstones | None = None,
    catalog: SettingsCatalog | None = None,
    bulk_load: bool = False,
) -> Store:
    """Open or create the store in a folder or at an object store's URI (s3://, gs://, az://).

    With `locks` any number of processes may open it at a time, each with locks that the others see. Without `locks`
    only one process may open it.
    `catalog`: the settings, filled from the log; None: an empty one.
    `storage`: options of the object store.
    `tombstones`: those of this process if it opens the store alone; shared tombstones are a table.
    `bulk_load`: fill shared tables from this process before any other knows of them; no `locks` needed.
    StoreMismatchError if it was created with another embedder, layout or format; OutageError if leases do
    not work at the object store.
    """
    shared = locks is not None and not bulk_load
    catalog = catalog or SettingsCatalog()
    folder = await asyncio.to_thread(ensure_local_folder, uri)
    if folder is None and locks is not None:
        await _probe_leases(uri, storage)
    session = lancedb.Session(
        index_cache_size_bytes=_INDEX_CACHE_BYTES, metadata_cache_size_bytes=_METADATA_CACHE_BYTES
    )
    newest = timedelta(0) if shared else None
    connection = await connect(uri, storage, session=session, read_consistency_interval=newest)
    expected = StoreProperties(dimensions, shards, embedder, shared=bulk_load or shared)
    if locks is not None and not bulk_load:
        sharing = SharingOptions(locks, _OBJECT_STORE_POLL_SECONDS if folder is None else _FOLDER_POLL_SECONDS)
        async with locks.acquire("tables/open"):
            properties = await create_or_verify_properties(connection, expected)
            factory = SharedTableFactory(connection, folder, sharing)
            return await _open_shared(factory, properties, catalog)
    properties = await create_or_verify_properties(connection, expected)
    if bulk_load:
        bulk_factory = ExclusiveTableFactory(connection, folder, BulkLoadTable, asyncio.Lock())
        # With tombstones of its own, as requests need none of deletions that the log holds from long ago.
        return await _open_tables(bulk_factory, properties, catalog, LocalTombstones())
    log = None if folder is None else await asyncio.to_thread(WriteAheadLog, folder)
    if log is not None:
        await log.history.open()
    exclusive_factory = ExclusiveTableFactory(connection, folder, ExclusiveLanceTable, asyncio.Lock(), log)
    return await _open_tables(
        exclusive_factory, properties, catalog, tombstones or LocalTombstones(), write_ahead_log=log
    )


async def verify_store(
    uri: str,
    *,
    dimensions: int,
    shards: int,
    embedder: str | None = None,
    shared: bool = False,
    storage: Mapping[str, str] | None = None,
) -> bool:
    """Return whether a store exists at this URI; StoreMismatchError if its properties differ."""
    folder = None if "://" in uri else Path(uri)
    if folder is not None and not folder.exists():
        return False
    expected = StoreProperties(dimensions, shards, embedder, shared)
    return await verify_properties(await connect(uri, storage), expected) is not None


def open_locks(uri: str, storage: Mapping[str, str] | None = None) -> Locks:
    """Open the locks of the store at this URI: files in its folder, or leases at an object store."""
    if "://" not in uri:
        return FolderLocks(Path(uri).resolve() / "locks")
    # A process with its tables in a folder does not load an object store's client.
    from pipeline.store.blobs.object_store_client import SHORT_TIMEOUT, open_object_store  # noqa: PLC0415 - see above
    from pipeline.store.multi_process.object_store_leases import ObjectLeaseLocks  # noqa: PLC0415 - see above

    return ObjectLeaseLocks(open_object_store(uri, storage, timeout=SHORT_TIMEOUT))


async def _probe_leases(uri: str, storage: Mapping[str, str] | None) -> None:
    """Write to the object store once: a first write may take longer than the timeout of a lease."""
    from pipeline.store.blobs.object_store_client import probe_object_store  # noqa: PLC0415 - see open_locks

    await probe_object_store(uri, storage)


async def _open_shared(factory: SharedTableFactory, properties: StoreProperties, catalog: SettingsCatalog) -> Store:
    tombstones = await factory.open_small(keyed_tables.tombstones_codec())
    store = await _open_tables(factory, properties, catalog, SharedTombstones(tombstones), further_tables=(tombstones,))
    await store.refresh()
    for table in (store.operations.table, store.answers.table, tombstones, store.syncs):
        await table.refresh()
    return store


async def _open_tables(
    factory: ExclusiveTableFactory | SharedTableFactory,
    properties: StoreProperties,
    catalog: SettingsCatalog,
    tombstones: Tombstones,
    *,
    further_tables: tuple[ShardedTable[Any], ...] = (),
    write_ahead_log: WriteAheadLog | None = None,
) -> Store:
    """Open the tables of every store; shared documents have as many shards as chunks and memories."""
    document_shards = properties.shards if properties.shared else 1
    dimensions, shards = properties.dimensions, properties.shards
    documents = await factory.open(factory.documents_class, document_table.codec(), document_shards)
    chunks = await factory.open(factory.chunks_class, chunk_table.codec(dimensions), shards)
    memories = await factory.open(factory.memories_class, memory_table.codec(dimensions), shards)
    operations = await factory.open_small(keyed_tables.operations_codec())
    answers = await factory.open_small(keyed_tables.answers_codec())
    syncs = await factory.open_small(keyed_tables.sync_runs_codec())
    return Store(
        documents=documents,
        chunks=chunks,
        memories=memories,
        catalog=catalog,
        operations=RowRepository(operations),
        answers=AnswerRepository(answers),
        tombstones=tombstones,
        syncs=syncs,
        tables=(documents, chunks, memories, *further_tables, operations, answers, syncs),
        write_ahead_log=write_ahead_log,
    )
