"""Resources that outlive a generation of tables: log, blobs, parser, models."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from pipeline import ports
from pipeline.bus.bus_factory import open_bus
from pipeline.bus.port import Bus
from pipeline.bus.sealing.sealed_records import DESTROYED
from pipeline.models import open_embedder, open_language_model, open_reranker
from pipeline.models.instrumented_embedder import InstrumentedEmbedder
from pipeline.models.media_endpoint import MediaEndpoint
from pipeline.models.vector_cache import CachingEmbedder, VectorCache
from pipeline.parsing.document_parser import FileParser
from pipeline.parsing.parser_pool import ParserPool
from pipeline.parsing.pdf_pages.page_renderer import PageRenderer
from pipeline.parsing.url_fetcher import HttpFetcher
from pipeline.runtime.local_locks import LocalLocks
from pipeline.runtime.metrics import Metrics
from pipeline.runtime.read_barrier import LOG_ANSWER_SECONDS
from pipeline.runtime.settings_lock import SettingsLock
from pipeline.settings import Settings
from pipeline.store import SettingsCatalog, StoreMismatchError, open_locks
from pipeline.store.blobs.blob_store import open_blobs
from pipeline.store.folder_files import FolderFiles, open_files
from pipeline.store.generations.generation_registry import Generation, GenerationRegistry, IndexConfig, open_generations
from pipeline.store.log_consistency import find_unknown_settings
from pipeline.tombstones import LocalTombstones
from schemas.topics import SETTINGS_CHANGED

CATALOG_FOLDER = "catalog"
"""Folder of the catalog in the data directory."""


class _Closable(Protocol):
    async def aclose(self) -> None: ...


C = TypeVar("C", bound=_Closable | None)


class SystemClock:
    def now(self) -> datetime:
        """UTC, whole microseconds."""
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Opened once per process and shared by the pipelines of all generations."""

    settings: Settings
    bus: Bus
    blobs: ports.Blobs
    clock: ports.Clock
    document_parser: ports.DocumentParser
    url_fetcher: ports.Fetcher
    generations: GenerationRegistry
    locks: ports.Locks
    """Shared by all processes that use the tables."""
    settings_lock: SettingsLock
    """Serialises changes of each setting."""
    catalog: SettingsCatalog
    """All settings, followed from the log."""
    tombstones: ports.Tombstones
    """Deletions ahead of the log, in a process that owns the tables."""
    metrics: Metrics
    language_model: ports.LanguageModel | None
    """Finds facts, if configured."""
    reranker: ports.Reranker | None = None
    """Reranks results, if configured."""
    query_rewriter: ports.QueryRewriter | None = None
    """Rewrites queries, if a language model is configured."""
    vector_cache: VectorCache
    page_renderer: PageRenderer

    @property
    def is_multi_process(self) -> bool:
        """True if other processes may use the log and the tables too."""
        return self.settings.kafka_bootstrap is not None

    def index_config(self, generation: Generation) -> IndexConfig:
        """Return a generation's own index config, else that of the settings."""
        return generation.index_config or index_config_from_settings(self.settings)

    def open_embedder(self, index_config: IndexConfig) -> ports.Embedder:
        """Open the embedder of an index config; ValueError names a missing setting."""
        embedder = InstrumentedEmbedder(
            embedder_from_settings(self.settings, index_config), self.metrics.observe_embedding
        )
        if index_config.embedder not in {"e5", "e5-encoder", "openai"}:
            return embedder  # as quick as the cache
        endpoint = self.settings.embedder_base_url or index_config.embedder_base_url
        address = endpoint if index_config.embedder == "openai" else None
        return CachingEmbedder(embedder, self.vector_cache, f"{embedder.name} {embedder.dimensions} {address}")


def index_config_from_settings(settings: Settings) -> IndexConfig:
    return IndexConfig.model_validate(settings, from_attributes=True)


def embedder_from_settings(settings: Settings, index_config: IndexConfig) -> ports.Embedder:
    """Open the embedder of an index config at the endpoint of the settings; ValueError names a missing setting."""
    return open_embedder(
        index_config.embedder,
        base_url=settings.embedder_base_url or index_config.embedder_base_url,
        api_key=settings.reveal(settings.embedder_api_key),
        model=index_config.embedder_model,
        dimensions=index_config.embedder_dimensions,
    )


def tables_uri(settings: Settings) -> str:
    """Return the location of the tables: a folder, or a URI of an object store."""
    return settings.lance_uri or str(settings.data_dir.resolve() / "tables")


def local_folders(settings: Settings) -> list[Path]:
    """Return the folders that hold data, as far as they are local: they may lie on several disks."""
    places = (settings.lance_uri, settings.blob_uri)
    return [settings.data_dir, *(Path(place) for place in places if place is not None and "://" not in place)]


def sealing_uri(settings: Settings) -> str:
    """Return the location of the keys of sealed records: beside the embedded log, or where processes share them."""
    if settings.kafka_bootstrap is None:
        return str(settings.data_dir.absolute() / "keys")
    return settings.sealing_uri or f"{tables_uri(settings)}/sealing-keys"


def open_sealing_keys(settings: Settings) -> ports.KeyStorage:
    uri = sealing_uri(settings)
    if settings.kafka_bootstrap is None:
        # Apart from log and keys, so that an older copy of neither brings an older list.
        return FolderFiles(Path(uri), "keys of sealed records", {DESTROYED: settings.data_dir / "destroyed-keys"})
    return open_files(uri, "keys of sealed records", settings.storage_options(uri), is_awaited=True)


@asynccontextmanager
async def open_resources(settings: Settings, *, accepts_log: bool = False) -> AsyncIterator[Resources]:
    """Open the resources; close them in reverse order, the log last.

    `accepts_log`: if the catalog was filled by another log, it is filled again by this one.
    DataDirectoryLockedError, StoreMismatchError and ValueError carry messages for the operator.
    """
    clock, metrics = SystemClock(), Metrics()
    uri = tables_uri(settings)
    async with AsyncExitStack() as stack:
        bus = await open_bus(
            settings,
            clock,
            observer=metrics,
            registry=metrics.registry,
            open_key_storage=partial(open_sealing_keys, settings),
        )
        stack.push_async_callback(bus.close)
        blob_uri = settings.blob_uri or str(settings.data_dir / "blobs")
        blobs = await open_blobs(blob_uri, settings.storage_options(blob_uri), bus.content_keys)
        extractor, fetcher = _open_parser_and_fetcher(settings, stack)
        renderer = _closing(stack, PageRenderer())
        model = _closing(stack, open_language_model(settings))
        vectors = _closing(stack, VectorCache(settings.data_dir / "vectors.sqlite"))
        is_shared = settings.kafka_bootstrap is not None
        locks = open_locks(uri, settings.storage_options(uri)) if is_shared else LocalLocks()
        catalog = await asyncio.to_thread(
            SettingsCatalog, settings.data_dir / CATALOG_FOLDER, settings.catalog_namespaces
        )
        stack.callback(catalog.close)
        if (problem := await find_unknown_settings(bus, catalog.positions)) is not None:
            if not accepts_log:
                raise StoreMismatchError(problem)
            catalog.clear()
        follower = await stack.enter_async_context(
            bus.follow(SETTINGS_CHANGED, catalog.handle, {number: at for number, (at, _) in catalog.positions.items()})
        )
        changes = SettingsLock(
            locks,
            follower.catch_up,
            partial(follower.catch_up, LOG_ANSWER_SECONDS) if is_shared else None,
            wait_for=follower.wait_for,
        )
        await changes.catch_up()
        yield Resources(
            settings=settings,
            bus=bus,
            blobs=blobs,
            clock=clock,
            document_parser=extractor,
            url_fetcher=fetcher,
            generations=open_generations(uri, settings.storage_options(uri)),
            locks=locks,
            settings_lock=changes,
            catalog=catalog,
            tombstones=LocalTombstones(),
            metrics=metrics,
            language_model=model,
            reranker=_closing(stack, open_reranker(settings)),
            query_rewriter=_open_query_rewriter(settings, bus, clock, stack),
            vector_cache=vectors,
            page_renderer=renderer,
        )


def _closing(stack: AsyncExitStack, opened: C) -> C:
    """Have what was opened, if anything, closed with the stack."""
    if opened is not None:
        stack.push_async_callback(opened.aclose)
    return opened


def _open_query_rewriter(
    settings: Settings, bus: Bus, clock: ports.Clock, stack: AsyncExitStack
) -> ports.QueryRewriter | None:
    # One of its own: a search must not wait behind questions about documents.
    model = _closing(stack, open_language_model(settings))
    if model is None:
        return None
    from pipeline.models.llm_query_rewriter import LLMQueryRewriter  # noqa: PLC0415 - only where a model is configured

    return _closing(stack, LLMQueryRewriter(model, bus, clock))


def _open_parser_and_fetcher(settings: Settings, stack: AsyncExitStack) -> tuple[FileParser, HttpFetcher]:
    workers = ParserPool(
        max_workers=settings.parse_workers,
        timeout_seconds=settings.parse_timeout_seconds,
        memory_limit_mb=settings.parse_memory_mb,
    )
    fetcher = _closing(stack, HttpFetcher(allow_private=settings.fetch_private_addresses))
    return FileParser(_closing(stack, workers), _open_media_model(settings, stack)), fetcher


def _open_media_model(settings: Settings, stack: AsyncExitStack) -> MediaEndpoint | None:
    if settings.llm_base_url is None or settings.llm_model is None:
        return None
    key = settings.reveal(settings.llm_api_key)
    return _closing(stack, MediaEndpoint(base_url=settings.llm_base_url, model=settings.llm_model, api_key=key))
