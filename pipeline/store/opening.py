"""Every table of the store, opened together."""

import asyncio
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import lancedb
import pyarrow as pa
from lancedb import AsyncConnection

from pipeline.ports import Locks, Tombstones
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, SyncsRow
from pipeline.store import chunks, documents, memories, settings_tables
from pipeline.store.ahead import Ahead
from pipeline.store.base import Base
from pipeline.store.catalog import Catalog
from pipeline.store.chunks import Chunks
from pipeline.store.codec import Codec
from pipeline.store.documents import Documents
from pipeline.store.filling import FillingBase
from pipeline.store.locks import FolderLocks
from pipeline.store.memories import Memories
from pipeline.store.meta import Meta, agree, agreement
from pipeline.store.operations import Operations
from pipeline.store.readable import Readable
from pipeline.store.shared import SharedTable, Sharing
from pipeline.store.sharedbase import SharedBase
from pipeline.store.sizes import Size
from pipeline.store.stored import Stored
from pipeline.store.table import Table, shard_name
from pipeline.store.tombstones import SharedTombstones
from pipeline.tombstones import LocalTombstones

Row = TypeVar("Row")

_INDEX_CACHE_BYTES = 16 * 1024 * 1024
_METADATA_CACHE_BYTES = 8 * 1024 * 1024
_READ_BOUNDS = {"LANCE_DEFAULT_BATCH_SIZE": "1024", "LANCE_DEFAULT_IO_BUFFER_SIZE": str(32 * 1024 * 1024)}
"""LanceDB reads its bounds once, from the environment. By default a merge of 16,000 documents with their
texts takes 180 MB more; with these 40, and it takes no longer."""
_FOLLOW_FOLDER_SECONDS = 0.2
_FOLLOW_OBJECTS_SECONDS = 1.0
"""To look whether a table has moved costs 0.1 ms in a folder, and a request at an object store."""


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
        tombstones: Tombstones,
        syncs: Readable[SyncsRow],
        tables: tuple[Readable[Any], ...],
        ahead: Ahead | None = None,
    ) -> None:
        self.documents = documents
        self.chunks = chunks
        self.memories = memories
        self.catalog = catalog
        self.operations = operations
        self.tombstones = tombstones
        self.syncs = syncs
        self._tables = tables
        self._ahead = ahead

    async def run(self) -> None:
        """Flush, follow and maintain every table until `close`."""
        async with asyncio.TaskGroup() as group:
            for table in self._tables:
                group.create_task(table.run())

    async def close(self) -> None:
        """Stop `run`, then write what still waits."""
        for table in self._tables:
            table.stop()
        await asyncio.gather(*(table.flush() for table in self._tables))
        if self._ahead is not None:
            await self._ahead.close()

    async def sizes(self) -> dict[str, Size]:
        """How large each table is, by its name."""
        sizes = await asyncio.gather(*(table.size() for table in self._tables))
        return {table.codec.table: size for table, size in zip(self._tables, sizes, strict=True)}

    def troubles(self) -> list[str]:
        """Which tables can't be written now, and why."""
        return [trouble for table in self._tables for trouble in table.troubles()]

    @property
    def bulk(self) -> bool:
        """Whether one fills the tables who flushes by himself."""
        return any(table.bulk for table in self._tables)

    @bulk.setter
    def bulk(self, value: bool) -> None:
        for table in self._tables:
            table.bulk = value

    @property
    def waiting(self) -> int:
        """Groups that are changed and not flushed yet."""
        return sum(table.waiting for table in self._tables)

    async def flush(self) -> None:
        """Everything that waits, to disk, now; raises when that fails."""
        await asyncio.gather(*(table.flush() for table in self._tables))

    async def maintain(self) -> None:
        """Merge fragments, refresh indices and drop old versions of every table now."""
        for table in self._tables:
            await table.maintain()

    async def adopt(self, other: "Store") -> None:
        """Take over what no reading of the log says: when operations ended, and runs of connectors."""
        await _copy(other.operations.table, self.operations.table)
        await _copy(other.syncs, self.syncs)

    async def refresh(self, spaces: Collection[str] | None = None) -> None:
        """Tell listeners of what other processes changed in these spaces (None: all) up to now."""
        await asyncio.gather(
            *(table.refresh(spaces) for table in (self.documents, self.chunks, self.memories))
        )

    async def remove_spaces(self, spaces: Collection[str]) -> None:
        """Erase every row of these spaces from every table; on disk when it returns, may be repeated."""
        for table in (self.documents, self.chunks, self.memories):
            await table.remove_spaces(spaces)


async def open_store(
    uri: str,
    *,
    dimensions: int,
    shards: int,
    embedder: str | None = None,
    locks: Locks | None = None,
    storage: Mapping[str, str] | None = None,
    follow_seconds: float | None = None,
    tombstones: Tombstones | None = None,
    catalog: Catalog | None = None,
    filling: bool = False,
) -> Store:
    """Open or create the store in a folder or at an object store's URI (s3://, gs://, az://).

    With `locks` any number of processes may open it at a time, each with locks that the others see, and with
    a `catalog` that it feeds from the log. Without, it must be opened once only.
    `storage`: options of the object store. `follow_seconds`: how often to look what others changed.
    `tombstones`: those of this process, where it has the tables to itself; others are a table.
    `filling`: as without `locks`, tables that others will share, which one process makes before they know.
    StoreMismatchError when it was made with another embedder, or for the other kind of use; OutageError when
    leases can't stand on the object store.
    """
    for name, bound in _READ_BOUNDS.items():
        os.environ.setdefault(name, bound)
    # The pool of the C library can hand memory back when asked (see Base.maintain); Arrow's own keeps it.
    pa.set_memory_pool(pa.system_memory_pool())
    folder = await asyncio.to_thread(_local_folder, uri)
    if folder is None and locks is not None:
        await _tried(uri, storage)
    session = lancedb.Session(
        index_cache_size_bytes=_INDEX_CACHE_BYTES, metadata_cache_size_bytes=_METADATA_CACHE_BYTES
    )
    # A relative path would be taken for the name of a hosted database.
    connection = await lancedb.connect_async(
        uri if folder is None else str(folder),
        session=session,
        storage_options=None if storage is None else dict(storage),
        read_consistency_interval=None if locks is None or filling else timedelta(0),
    )
    wanted = Meta(dimensions, shards, embedder, shared=filling or locks is not None)
    if filling:
        place, meta = _Place(connection, folder, FillingBase), await agree(connection, wanted)
        return await _open_filling(place, meta, catalog or Catalog())
    if locks is None:
        meta = await agree(connection, wanted)
        ahead = None if folder is None else await asyncio.to_thread(Ahead, folder)
        place = _Place(connection, folder, ahead=ahead)
        return await _open_exclusive(place, meta, tombstones or LocalTombstones())
    seconds = _FOLLOW_FOLDER_SECONDS if folder is not None else _FOLLOW_OBJECTS_SECONDS
    async with locks.hold("tables/open"):
        meta = await agree(connection, wanted)
        sharing = Sharing(locks, seconds if follow_seconds is None else follow_seconds)
        return await _open_shared(sharing, connection, folder, meta, catalog or Catalog())


async def _tried(uri: str, storage: Mapping[str, str] | None) -> None:
    """Leases give up after seconds: a store that has to make room for its first object does so now."""
    from pipeline.store.objects import probed  # noqa: PLC0415 - see open_locks

    await probed(uri, storage)


async def agrees(
    uri: str,
    *,
    dimensions: int,
    shards: int,
    embedder: str | None = None,
    shared: bool = False,
    storage: Mapping[str, str] | None = None,
) -> bool:
    """Whether there is a store at this URI, made with these; StoreMismatchError where it was with others."""
    folder = None if "://" in uri else Path(uri)
    if folder is not None and not folder.exists():
        return False
    options = None if storage is None else dict(storage)
    connection = await lancedb.connect_async(
        uri if folder is None else str(folder.resolve()), storage_options=options
    )
    return await agreement(connection, Meta(dimensions, shards, embedder, shared)) is not None


def open_locks(uri: str, storage: Mapping[str, str] | None = None) -> Locks:
    """Locks for all who open the store at this URI: files in its folder, or leases at an object store."""
    if "://" not in uri:
        return FolderLocks(Path(uri).resolve() / "locks")
    # One process with its tables in a folder has no use for an object store's client.
    from pipeline.store.leases import LeaseLocks  # noqa: PLC0415 - see above
    from pipeline.store.objects import QUICK, open_objects  # noqa: PLC0415 - see above

    return LeaseLocks(open_objects(uri, storage, within=QUICK))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where tables are. `folder` is None at an object store; `turn`: one of them at a time does upkeep."""

    connection: AsyncConnection
    folder: Path | None
    kind: type[Base[Any]] = Base
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    ahead: Ahead | None = None

    async def bases(self, codec: Codec[Row], shards: int = 1) -> tuple[list[Base[Row]], Counter[str]]:
        """The LanceDB tables of one kind of row, and how many counted rows each space has in them."""
        names = _names(codec, shards)
        bases = [await self.kind.open(self.connection, self.folder, name, codec, self.turn) for name in names]
        if self.ahead is not None:
            await _finished(self.ahead, codec, bases)
        return bases, await _counted(codec, bases)

    async def table(self, codec: Codec[Row]) -> Table[Row]:
        """A table of one shard."""
        return Table(codec, *await self.bases(codec), self.ahead)


class _Documents(Documents, Table[DocumentRow]): ...


class _Chunks(Chunks, Table[ChunkRow]): ...


class _Memories(Memories, Table[MemoryRow]): ...


async def _open_exclusive(place: _Place, meta: Meta, tombstones: Tombstones) -> Store:
    names = await place.table(settings_tables.namespaces())
    organization = await place.table(settings_tables.organization())
    keys = await place.table(settings_tables.keys())
    connectors = await place.table(settings_tables.connectors())
    settings = (names, organization, keys, connectors)
    catalog = Catalog(settings)
    await catalog.load()
    return await _with_rows(place, meta, catalog, tombstones, settings)


async def _open_filling(place: _Place, meta: Meta, catalog: Catalog) -> Store:
    # Tombstones of its own: what the log deleted long ago is nothing that requests must know.
    return await _with_rows(place, meta, catalog, LocalTombstones(), ())


async def _with_rows(
    place: _Place, meta: Meta, catalog: Catalog, tombstones: Tombstones, settings: tuple[Table[Any], ...]
) -> Store:
    """Documents have as many shards as the rest where several processes are to share them."""
    document_shards = meta.shards if meta.shared else 1
    ahead = place.ahead
    document_codec = documents.codec()
    document_rows = _Documents(document_codec, *await place.bases(document_codec, document_shards), ahead)
    chunk_codec, memory_codec = chunks.codec(meta.dimensions), memories.codec(meta.dimensions)
    chunk_rows = _Chunks(chunk_codec, *await place.bases(chunk_codec, meta.shards), ahead)
    memory_rows = _Memories(memory_codec, *await place.bases(memory_codec, meta.shards), ahead)
    operations = await place.table(settings_tables.operations())
    syncs = await place.table(settings_tables.syncs())
    return Store(
        documents=document_rows,
        chunks=chunk_rows,
        memories=memory_rows,
        catalog=catalog,
        operations=Operations(operations),
        tombstones=tombstones,
        syncs=syncs,
        tables=(document_rows, chunk_rows, memory_rows, *settings, operations, syncs),
        ahead=ahead,
    )


class _SharedDocuments(Documents, SharedTable[DocumentRow]): ...


class _SharedChunks(Chunks, SharedTable[ChunkRow]): ...


class _SharedMemories(Memories, SharedTable[MemoryRow]): ...


async def _open_shared(
    sharing: Sharing, connection: AsyncConnection, folder: Path | None, meta: Meta, catalog: Catalog
) -> Store:
    async def bases(codec: Codec[Row], shards: int = 1) -> list[SharedBase[Row]]:
        names = _names(codec, shards)
        return [await SharedBase.open(connection, folder, name, codec) for name in names]

    async def small(codec: Codec[Row]) -> SharedTable[Row]:
        return SharedTable(codec, await bases(codec), sharing)

    chunk_codec, memory_codec = chunks.codec(meta.dimensions), memories.codec(meta.dimensions)
    document_rows = _SharedDocuments(documents.codec(), await bases(documents.codec(), meta.shards), sharing)
    chunk_rows = _SharedChunks(chunk_codec, await bases(chunk_codec, meta.shards), sharing)
    memory_rows = _SharedMemories(memory_codec, await bases(memory_codec, meta.shards), sharing)
    operations = await small(settings_tables.operations())
    tombstones = await small(settings_tables.tombstones())
    syncs = await small(settings_tables.syncs())
    tables = (document_rows, chunk_rows, memory_rows, operations, tombstones, syncs)
    for table in tables:
        await table.refresh()
    return Store(
        documents=document_rows,
        chunks=chunk_rows,
        memories=memory_rows,
        catalog=catalog,
        operations=Operations(operations),
        tombstones=SharedTombstones(tombstones),
        syncs=syncs,
        tables=tables,
    )


async def _finished(ahead: Ahead, codec: Codec[Row], bases: Sequence[Base[Row]]) -> None:
    """What a process that was killed had written ahead, given to LanceDB."""
    for shard, base in enumerate(bases):
        name = shard_name(codec, shard)
        left = await ahead.left(name, codec)
        if left.number:
            await base.commit(left.changed)
            await ahead.passed(name, left.number)


async def _copy(source: Readable[Row], target: Readable[Row]) -> None:
    rows = target.codec.grouped(await source.in_spaces([""]))
    await target.update(list(rows), lambda group, _: rows[group])
    await target.durable()


def _names(codec: Codec[Any], shards: int) -> list[str]:
    return [codec.table] if shards == 1 else [f"{codec.table}_{shard}" for shard in range(shards)]


async def _counted(codec: Codec[Any], bases: Sequence[Stored[Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for base in bases:
        spaces = await base.scan(codec.counted_where, ["space"])
        for entry in spaces.column(0).value_counts().to_pylist():
            counts[entry["values"]] += entry["counts"]
    return counts


def _local_folder(uri: str) -> Path | None:
    if "://" in uri:
        return None
    folder = Path(uri).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
