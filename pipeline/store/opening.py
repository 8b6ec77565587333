"""Every table of the store, opened together."""

import asyncio
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa

from pipeline.rows import SyncsRow
from pipeline.store import chunks, documents, memories, settings_tables
from pipeline.store.catalog import Catalog
from pipeline.store.chunks import Chunks
from pipeline.store.documents import Documents
from pipeline.store.memories import Memories
from pipeline.store.meta import Meta, agree
from pipeline.store.operations import Operations
from pipeline.store.sizes import Size
from pipeline.store.table import Place, Table, open_bases, open_table

_INDEX_CACHE_BYTES = 16 * 1024 * 1024
_METADATA_CACHE_BYTES = 8 * 1024 * 1024
_READ_BOUNDS = {"LANCE_DEFAULT_BATCH_SIZE": "1024", "LANCE_DEFAULT_IO_BUFFER_SIZE": str(32 * 1024 * 1024)}
"""LanceDB reads its bounds once, from the environment. By default a merge of 16,000 documents with their
texts takes 180 MB more; with these 40, and it takes no longer."""


class Store:
    """Every table. `run` flushes in the background; without it `durable` flushes by itself."""

    def __init__(
        self,
        *,
        documents: Documents,
        chunks: Chunks,
        memories: Memories,
        catalog: Catalog,
        operations: Operations,
        syncs: Table[SyncsRow],
        tables: tuple[Table[Any], ...],
    ) -> None:
        self.documents = documents
        self.chunks = chunks
        self.memories = memories
        self.catalog = catalog
        self.operations = operations
        self.syncs = syncs
        self._tables = tables

    async def run(self) -> None:
        """Flush and maintain every table until `close`."""
        async with asyncio.TaskGroup() as group:
            for table in self._tables:
                group.create_task(table.run())

    async def close(self) -> None:
        """Stop `run`, then write what still waits."""
        for table in self._tables:
            table.stop()
        await asyncio.gather(*(table.flush() for table in self._tables))

    async def sizes(self) -> dict[str, Size]:
        """How large each table is, by its name."""
        sizes = await asyncio.gather(*(table.size() for table in self._tables))
        return {table.codec.table: size for table, size in zip(self._tables, sizes, strict=True)}

    def troubles(self) -> list[str]:
        """Which tables can't be flushed now, and why."""
        return [trouble for table in self._tables for trouble in table.troubles()]

    async def remove_spaces(self, spaces: Collection[str]) -> None:
        """Erase every row of these spaces from every table; on disk when it returns, may be repeated."""
        for table in (self.documents, self.chunks, self.memories):
            await table.remove_spaces(spaces)


async def open_store(uri: str, *, dimensions: int, shards: int, embedder: str | None = None) -> Store:
    """Open or create the store in a folder or at an object store's URI (s3://, gs://, az://).

    StoreMismatchError when it was made with another embedder.
    """
    for name, bound in _READ_BOUNDS.items():
        os.environ.setdefault(name, bound)
    # The pool of the C library can hand memory back when asked (see Base.maintain); Arrow's own keeps it.
    pa.set_memory_pool(pa.system_memory_pool())
    folder = await asyncio.to_thread(_local_folder, uri)
    session = lancedb.Session(
        index_cache_size_bytes=_INDEX_CACHE_BYTES, metadata_cache_size_bytes=_METADATA_CACHE_BYTES
    )
    # A relative path would be taken for the name of a hosted database.
    connection = await lancedb.connect_async(uri if folder is None else str(folder), session=session)
    meta = await agree(connection, Meta(dimensions, shards, embedder))
    return await _open_tables(Place(connection, folder), meta)


async def _open_tables(place: Place, meta: Meta) -> Store:
    document_rows = Documents(documents.codec(), *await open_bases(place, documents.codec(), 1))
    chunk_codec, memory_codec = chunks.codec(meta.dimensions), memories.codec(meta.dimensions)
    chunk_rows = Chunks(chunk_codec, *await open_bases(place, chunk_codec, meta.shards))
    memory_rows = Memories(memory_codec, *await open_bases(place, memory_codec, meta.shards))
    names = await open_table(place, settings_tables.namespaces())
    organization = await open_table(place, settings_tables.organization())
    keys = await open_table(place, settings_tables.keys())
    operations = await open_table(place, settings_tables.operations())
    connectors = await open_table(place, settings_tables.connectors())
    syncs = await open_table(place, settings_tables.syncs())
    catalog = Catalog(names, organization, keys, connectors)
    await catalog.load()
    tables = (
        document_rows,
        chunk_rows,
        memory_rows,
        names,
        organization,
        keys,
        operations,
        connectors,
        syncs,
    )
    return Store(
        documents=document_rows,
        chunks=chunk_rows,
        memories=memory_rows,
        catalog=catalog,
        operations=Operations(operations),
        syncs=syncs,
        tables=tables,
    )


def _local_folder(uri: str) -> Path | None:
    if "://" in uri:
        return None
    folder = Path(uri).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
