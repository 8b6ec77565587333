"""The pipeline put together: settings in, adapters and stages out. Rules live elsewhere."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.bus.log import LogBus
from pipeline.bus.port import Bus
from pipeline.extraction.extractor import FileExtractor
from pipeline.extraction.fetch import HttpFetcher
from pipeline.extraction.split import StructuredSplitter
from pipeline.extraction.summary import summarize
from pipeline.extraction.workers import WorkerPool
from pipeline.index.cache import NamespaceCache
from pipeline.inference import open_embedder
from pipeline.inference.media import MediaEndpoint
from pipeline.memory.dreamer import Dreamer
from pipeline.memory.former import Former
from pipeline.memory.keeper import Keeper
from pipeline.memory.ledger import Ledger
from pipeline.ports import Clock, Embedder, Extractor, Fetcher, Tombstones
from pipeline.settings import Settings
from pipeline.stage import Stage
from pipeline.stages import chunk, embed, extract, forget, form, operations, relate
from pipeline.stages import settings as settings_stage
from pipeline.stages import syncs as syncs_stage
from pipeline.store import Store, open_store
from pipeline.store.blobs import FolderBlobs
from pipeline.text.terms import hashed
from pipeline.tombstones import LocalTombstones
from schemas import topics

MAINTENANCE_SECONDS = 300.0
CATCH_UP_SECONDS = 10.0
log = logging.getLogger(__name__)


class SystemClock:
    """The time of this machine."""

    def now(self) -> datetime:
        """UTC, whole microseconds."""
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts of a running pipeline, for whoever serves them."""

    bus: Bus
    store: Store
    blobs: FolderBlobs
    cache: NamespaceCache
    keeper: Keeper
    changes: asyncio.Lock
    """Held while a setting is read, changed and published, so that no change is lost."""
    tombstones: Tombstones
    """What was deleted ahead of the log, by whoever serves this pipeline."""
    embedder: Embedder
    clock: Clock
    dreamer: Dreamer
    stages: Sequence[Stage[Any]]

    async def catch_up(self) -> None:
        """Show what was acknowledged before the last end and had not reached the tables; before `run`.

        Memories come before what was forgotten of them, so that it stays forgotten. That may need an
        embedder that does not answer now, so it is not waited for very long.
        """
        await self.bus.foresee(self.stages)
        stages = {stage.name: stage for stage in self.stages}
        writing = asyncio.create_task(self.store.run())
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                for name in ("relate", "forget"):
                    await self.bus.run([stages[name]], until_idle=True)
        except TimeoutError:
            log.warning("Memories of before the start are still being written.")
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    async def run(self) -> None:
        """Until cancelled; an unforeseen error of any part ends it with that error."""
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self.store.run())
            parts.create_task(self.bus.run(self.stages))
            parts.create_task(self.dreamer.run())
            parts.create_task(self._sweep())
            parts.create_task(self._maintain())

    async def _sweep(self) -> None:
        """Erase what a process left that ended between a namespace's end and the request to purge it."""
        spaces: set[str] = set()
        for table in (self.store.documents, self.store.chunks, self.store.memories):
            _, rows = await table.scan(None, "true", ["space", table.codec.group])
            spaces.update(rows.column("space").unique().to_pylist())
        unowned = {space for space in spaces if self.store.catalog.owner(space) is None}
        if unowned:
            log.info("Erasing %d spaces that no namespace owns any more.", len(unowned))
            await self.store.remove_spaces(unowned)

    async def _maintain(self) -> None:
        while True:
            await asyncio.sleep(MAINTENANCE_SECONDS)
            removed = await self.bus.maintain(topics.ALL)
            log.debug("Retention and compaction removed %d records.", removed)


@asynccontextmanager
async def open_pipeline(settings: Settings) -> AsyncIterator[Pipeline]:
    """Everything opened, nothing running yet; closed in reverse order, the log last.

    DataDirectoryLockedError, StoreMismatchError and ValueError carry messages for the operator.
    """
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        bus = await LogBus.open(settings.data_dir / "log", partitions=settings.partitions, clock=clock)
        stack.push_async_callback(bus.close)
        embedder = _embedder(settings)
        store = await open_store(
            settings.lance_uri or str(settings.data_dir.resolve() / "tables"),
            dimensions=embedder.dimensions,
            shards=settings.shards,
            embedder=embedder.name,
        )
        stack.push_async_callback(store.close)
        blobs = FolderBlobs(_blob_folder(settings))
        await blobs.sweep()
        ledger = Ledger(store.memories)
        former = Former(documents=store.documents, catalog=store.catalog, publisher=bus, ledger=ledger)
        parts = _Parts(
            settings=settings,
            bus=bus,
            store=store,
            blobs=blobs,
            embedder=embedder,
            clock=clock,
            keeper=Keeper(store.memories, ledger, store.catalog),
            former=former,
            dreamer=Dreamer(
                former=former,
                documents=store.documents,
                catalog=store.catalog,
                clock=clock,
                quiet_seconds=settings.dreaming_quiet_seconds,
                hand_over=form.handing_over(bus, blobs),
            ),
            changes=asyncio.Lock(),
            tombstones=LocalTombstones(),
        )
        extractor, fetcher = _extraction(settings, stack)
        pipeline = parts.pipeline(extractor, fetcher)
        await pipeline.catch_up()
        yield pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What the stages are made of."""

    settings: Settings
    bus: Bus
    store: Store
    blobs: FolderBlobs
    embedder: Embedder
    clock: Clock
    keeper: Keeper
    former: Former
    dreamer: Dreamer
    changes: asyncio.Lock
    tombstones: Tombstones

    def pipeline(self, extractor: Extractor, fetcher: Fetcher) -> Pipeline:
        store = self.store
        return Pipeline(
            bus=self.bus,
            store=store,
            blobs=self.blobs,
            cache=NamespaceCache(
                store.documents, store.chunks, store.memories, store.catalog, self.settings.cache_bytes
            ),
            keeper=self.keeper,
            changes=self.changes,
            tombstones=self.tombstones,
            embedder=self.embedder,
            clock=self.clock,
            dreamer=self.dreamer,
            # What comes first is foreseen first: documents are nobody's before their namespace is known.
            stages=[
                settings_stage.build(catalog=store.catalog),
                *self._texts(extractor, fetcher),
                *self._memories(),
                self._operations(),
                syncs_stage.build(syncs=store.syncs),
            ],
        )

    def _texts(self, extractor: Extractor, fetcher: Fetcher) -> list[Stage[Any]]:
        """From what was sent to passages that can be found."""
        store, blobs, bus = self.store, self.blobs, self.bus
        return [
            extract.build(
                documents=store.documents,
                chunks=store.chunks,
                keeper=self.keeper,
                blobs=blobs,
                catalog=store.catalog,
                publisher=bus,
                extractor=extractor,
                fetcher=fetcher,
                summarize=summarize,
                tombstones=self.tombstones,
            ),
            chunk.build(
                documents=store.documents,
                blobs=blobs,
                catalog=store.catalog,
                publisher=bus,
                splitter=StructuredSplitter(self.settings.chunk_size),
            ),
            embed.build(
                documents=store.documents,
                chunks=store.chunks,
                blobs=blobs,
                catalog=store.catalog,
                embedder=self.embedder,
                terms=hashed,
            ),
        ]

    def _memories(self) -> list[Stage[Any]]:
        """From texts to facts that are known."""
        store = self.store
        return [
            form.build(
                documents=store.documents,
                memories=store.memories,
                catalog=store.catalog,
                blobs=self.blobs,
                publisher=self.bus,
                former=self.former,
                dreamer=self.dreamer,
            ),
            relate.build(
                documents=store.documents,
                memories=store.memories,
                catalog=store.catalog,
                embedder=self.embedder,
                keeper=self.keeper,
                terms=hashed,
            ),
            forget.build(catalog=store.catalog, keeper=self.keeper),
        ]

    def _operations(self) -> Stage[Any]:
        return operations.build(
            documents=self.store.documents,
            catalog=self.store.catalog,
            operations=self.store.operations,
            publisher=self.bus,
            clock=self.clock,
            store=self.store,
            lock=self.changes,
        )


def _blob_folder(settings: Settings) -> Path:
    uri = settings.blob_uri
    if uri is not None and "://" in uri:
        raise ValueError(
            f"RECOLLECT_BLOB_URI is {uri}, but this version keeps blobs in a folder. Give the path of one."
        )
    return Path(uri) if uri else settings.data_dir / "blobs"


def _embedder(settings: Settings) -> Embedder:
    key = settings.embedder_api_key
    return open_embedder(
        settings.embedder,
        base_url=settings.embedder_base_url,
        api_key=key.get_secret_value() if key else None,
        model=settings.embedder_model,
        dimensions=settings.embedder_dimensions,
    )


def _extraction(settings: Settings, stack: AsyncExitStack) -> tuple[FileExtractor, HttpFetcher]:
    workers = WorkerPool(
        count=settings.extract_workers,
        seconds=settings.extract_seconds,
        memory_mb=settings.extract_memory_mb,
    )
    stack.push_async_callback(workers.aclose)
    fetcher = HttpFetcher(allow_private=settings.fetch_private_addresses)
    stack.push_async_callback(fetcher.aclose)
    return FileExtractor(workers, _media(settings, stack)), fetcher


def _media(settings: Settings, stack: AsyncExitStack) -> MediaEndpoint | None:
    if settings.llm_base_url is None or settings.llm_model is None:
        return None
    key = settings.llm_api_key
    media = MediaEndpoint(
        base_url=settings.llm_base_url,
        model=settings.llm_model,
        api_key=key.get_secret_value() if key else None,
    )
    stack.push_async_callback(media.aclose)
    return media
