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
from pipeline.ports import Clock, Embedder
from pipeline.settings import Settings
from pipeline.stage import Stage
from pipeline.stages import chunk, embed, extract, forget, form, operations, relate
from pipeline.stages import settings as settings_stage
from pipeline.store import Store, open_store
from pipeline.store.blobs import FolderBlobs
from pipeline.text.terms import hashed
from schemas import topics

MAINTENANCE_SECONDS = 300.0
log = logging.getLogger(__name__)


class SystemClock:
    """The time of this machine."""

    def now(self) -> datetime:
        """UTC, whole microseconds."""
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts of a running pipeline, for whoever serves them."""

    bus: LogBus
    store: Store
    blobs: FolderBlobs
    cache: NamespaceCache
    keeper: Keeper
    changes: asyncio.Lock
    """Held while a setting is read, changed and published, so that no change is lost."""
    embedder: Embedder
    clock: Clock
    dreamer: Dreamer
    stages: Sequence[Stage[Any]]

    async def run(self) -> None:
        """Until cancelled; an unforeseen error of any part ends it with that error."""
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self.store.run())
            parts.create_task(self.bus.run(self.stages))
            parts.create_task(self.dreamer.run())
            parts.create_task(self._maintain())

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
        blobs = FolderBlobs(Path(settings.blob_uri or settings.data_dir / "blobs"))
        await blobs.sweep()
        cache = NamespaceCache(
            store.documents, store.chunks, store.memories, store.catalog, settings.cache_bytes
        )
        extractor, fetcher = _extraction(settings, stack)
        changes = asyncio.Lock()
        ledger = Ledger(store.memories)
        keeper = Keeper(store.memories, ledger, store.catalog)
        former = Former(documents=store.documents, catalog=store.catalog, publisher=bus, ledger=ledger)
        dreamer = Dreamer(
            former=former,
            documents=store.documents,
            catalog=store.catalog,
            clock=clock,
            quiet_seconds=settings.dreaming_quiet_seconds,
        )
        documents, chunks, memories, catalog = (
            store.documents,
            store.chunks,
            store.memories,
            store.catalog,
        )
        stages: list[Stage[Any]] = [
            extract.build(
                documents=documents,
                chunks=chunks,
                keeper=keeper,
                blobs=blobs,
                catalog=catalog,
                publisher=bus,
                extractor=extractor,
                fetcher=fetcher,
                summarize=summarize,
            ),
            chunk.build(
                documents=documents,
                blobs=blobs,
                catalog=catalog,
                publisher=bus,
                splitter=StructuredSplitter(settings.chunk_size),
            ),
            embed.build(
                documents=documents,
                chunks=chunks,
                blobs=blobs,
                catalog=catalog,
                embedder=embedder,
                terms=hashed,
            ),
            form.build(
                documents=documents,
                memories=memories,
                catalog=catalog,
                blobs=blobs,
                publisher=bus,
                former=former,
                dreamer=dreamer,
            ),
            relate.build(
                documents=documents,
                memories=memories,
                catalog=catalog,
                embedder=embedder,
                keeper=keeper,
                terms=hashed,
            ),
            forget.build(catalog=catalog, keeper=keeper),
            settings_stage.build(catalog=catalog),
            operations.build(
                documents=documents,
                catalog=catalog,
                operations=store.operations,
                publisher=bus,
                clock=clock,
                store=store,
                lock=changes,
            ),
        ]
        yield Pipeline(bus, store, blobs, cache, keeper, changes, embedder, clock, dreamer, stages)


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
