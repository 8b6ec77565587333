"""What outlives a generation of tables: the log, blobs, extraction, and what requests share."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from pipeline.bus.opening import open_bus
from pipeline.bus.port import Bus
from pipeline.changes import Changes
from pipeline.extraction.extractor import FileExtractor
from pipeline.extraction.fetch import HttpFetcher
from pipeline.extraction.workers import WorkerPool
from pipeline.inference import ClosableModel, open_embedder, open_model, open_reranker, open_rewriter
from pipeline.inference.media import MediaEndpoint
from pipeline.inference.observed import observed
from pipeline.locks import LocalLocks
from pipeline.metrics import Metrics
from pipeline.ports import (
    Blobs,
    Clock,
    Embedder,
    Extractor,
    Fetcher,
    LanguageModel,
    Locks,
    Reranker,
    Rewriter,
    Tombstones,
)
from pipeline.settings import Settings
from pipeline.stage import Record
from pipeline.store import Catalog, open_locks
from pipeline.store.blobs import open_blobs
from pipeline.store.generations import Generation, Generations, Recipe, generations_at
from pipeline.tombstones import LocalTombstones
from schemas.events import SettingsChanged
from schemas.topics import SETTINGS_CHANGED


class SystemClock:
    """The time of this machine."""

    def now(self) -> datetime:
        """UTC, whole microseconds."""
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """Opened once per process; pipelines on one generation of tables or another stand on it."""

    settings: Settings
    bus: Bus
    blobs: Blobs
    clock: Clock
    extractor: Extractor
    fetcher: Fetcher
    generations: Generations
    locks: Locks
    """Seen by whoever may use the tables."""
    changes: Changes
    """The turn to change a setting."""
    catalog: Catalog | None
    """Every setting in the log, followed by this process; None where it has the log to itself."""
    tombstones: Tombstones
    """What was deleted ahead of the log, in a process that has the tables to itself."""
    metrics: Metrics
    model: LanguageModel | None
    """Finds facts, where one is configured."""
    reranker: Reranker | None = None
    """Orders results, where one is configured."""
    rewriter: Rewriter | None = None
    """Says how else to ask, where a language model is configured."""

    @property
    def shared(self) -> bool:
        """Whether other processes may use the log and the tables too."""
        return self.catalog is not None

    def recipe(self, generation: Generation) -> Recipe:
        """What the rows of a generation are made with: what it says itself, else the settings."""
        return generation.recipe or recipe_of(self.settings)

    def embedder(self, recipe: Recipe) -> Embedder:
        """The embedder of a recipe; ValueError names a setting that is missing."""
        return observed(embedder_of(self.settings, recipe), self.metrics.embedded)


def recipe_of(settings: Settings) -> Recipe:
    """The recipe that the settings ask for."""
    return Recipe(
        embedder=settings.embedder,
        embedder_model=settings.embedder_model,
        embedder_dimensions=settings.embedder_dimensions,
        embedder_base_url=settings.embedder_base_url,
        chunk_size=settings.chunk_size,
        shards=settings.shards,
    )


def embedder_of(settings: Settings, recipe: Recipe) -> Embedder:
    """The embedder of a recipe, where the settings have it answer; ValueError names one that is missing."""
    key = settings.embedder_api_key
    return open_embedder(
        recipe.embedder,
        base_url=settings.embedder_base_url or recipe.embedder_base_url,
        api_key=key.get_secret_value() if key else None,
        model=recipe.embedder_model,
        dimensions=recipe.embedder_dimensions,
    )


def model_of(settings: Settings) -> ClosableModel | None:
    """The language model of the settings; None where none is set. ValueError names what is missing."""
    key = settings.llm_api_key
    return open_model(
        base_url=settings.llm_base_url,
        model=settings.llm_model,
        api_key=key.get_secret_value() if key else None,
        seconds=settings.llm_seconds,
        output_tokens=settings.llm_output_tokens,
        concurrency=settings.llm_concurrency,
    )


def tables_at(settings: Settings) -> str:
    """Where the tables are: a folder, or a URI of an object store."""
    return settings.lance_uri or str(settings.data_dir.resolve() / "tables")


@asynccontextmanager
async def open_foundation(settings: Settings) -> AsyncIterator[Foundation]:
    """Everything that no generation owns; closed in reverse order, the log last.

    DataDirectoryLockedError and ValueError carry messages for the operator.
    """
    clock, metrics = SystemClock(), Metrics()
    async with AsyncExitStack() as stack:
        bus = await open_bus(settings, clock, observer=metrics, registry=metrics.registry)
        stack.push_async_callback(bus.close)
        blob_uri = settings.blob_uri or str(settings.data_dir / "blobs")
        blobs = await open_blobs(blob_uri, settings.storage(blob_uri))
        extractor, fetcher = _extraction(settings, stack)
        model = _model(settings, stack)
        uri = tables_at(settings)
        locks: Locks = LocalLocks()
        catalog, changes = None, Changes()
        if settings.kafka_bootstrap is not None:
            locks = open_locks(uri, settings.storage(uri))
            catalog, changes = await _followed(bus, locks, stack)
        yield Foundation(
            settings=settings,
            bus=bus,
            blobs=blobs,
            clock=clock,
            extractor=extractor,
            fetcher=fetcher,
            generations=generations_at(uri, settings.storage(uri)),
            locks=locks,
            changes=changes,
            catalog=catalog,
            tombstones=LocalTombstones(),
            metrics=metrics,
            model=model,
            reranker=_reranker(settings, stack),
            rewriter=_rewriter(settings, bus, clock, stack),
        )


def _reranker(settings: Settings, stack: AsyncExitStack) -> Reranker | None:
    key = settings.rerank_api_key
    reranker = open_reranker(
        base_url=settings.rerank_base_url,
        model=settings.rerank_model,
        api_key=key.get_secret_value() if key else None,
        seconds=settings.rerank_seconds,
    )
    if reranker is not None:
        stack.push_async_callback(reranker.aclose)
    return reranker


def _model(settings: Settings, stack: AsyncExitStack) -> LanguageModel | None:
    model = model_of(settings)
    if model is not None:
        stack.push_async_callback(model.aclose)
    return model


def _rewriter(settings: Settings, bus: Bus, clock: Clock, stack: AsyncExitStack) -> Rewriter | None:
    # One of its own: a search must not wait behind questions about documents.
    model = _model(settings, stack)
    if model is None:
        return None
    rewriter = open_rewriter(model, bus, clock)
    stack.push_async_callback(rewriter.aclose)
    return rewriter


async def _followed(bus: Bus, locks: Locks, stack: AsyncExitStack) -> tuple[Catalog, Changes]:
    """A catalog that has every setting in the log, from now on too."""
    catalog = Catalog()

    async def handle(batch: Sequence[Record[SettingsChanged]]) -> None:
        for record in batch:
            catalog.apply(record.event)

    follower = await stack.enter_async_context(bus.follow(SETTINGS_CHANGED, handle))
    changes = Changes(locks, follower.current)
    await changes.current()
    return catalog, changes


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
