"""Builds the pipeline of a generation: tables, index, memory services and stages."""

from contextlib import AsyncExitStack
from dataclasses import replace

from app.generation_pipeline import Pipeline, PublishInterceptor
from app.resources import Resources
from app.submission_follower import SubmissionFollower, show_over
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.index.snapshots.index_snapshots import SnapshotOptions
from pipeline.memory.formation.fact_extractor import FactExtractor, RuleBasedExtractor
from pipeline.memory.formation.llm_extractor import LlmExtractor
from pipeline.memory.formation.memory_extractor import MemoryExtractor
from pipeline.memory.formation.nearest_memories import NearestMemoryFinder
from pipeline.memory.scheduling.debounce_policy import DebouncePolicy
from pipeline.memory.scheduling.deferred_extraction_poller import DeferredExtractionPoller
from pipeline.memory.scheduling.deferred_extraction_worker import DeferredExtraction, DeferredExtractionWorker
from pipeline.memory.scheduling.expiration_worker import ExpirationWorker
from pipeline.memory.versioning.fact_lookup import FactLookup
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.parsing.extractive_summary import summarize
from pipeline.parsing.text_splitter import StructuredSplitter
from pipeline.ports import Embedder
from pipeline.profile.profile_cache import ProfileCache
from pipeline.rows import DocumentRow
from pipeline.runtime.local_locks import LocalLocks
from pipeline.stages.chunk_stage import ChunkStage
from pipeline.stages.embed_stage import EmbedStage
from pipeline.stages.extract_stage import ExtractStage
from pipeline.stages.forget_memories_stage import ForgetMemoriesStage
from pipeline.stages.form_memories_stage import FormMemoriesStage, document_enqueuer
from pipeline.stages.index_stage import IndexStage
from pipeline.stages.namespace_operations_stage import NamespaceOperationsStage
from pipeline.stages.project_memories_stage import ProjectMemoriesStage
from pipeline.stages.stage_set import StageSet
from pipeline.stages.sync_run_stages import SyncRunStages
from pipeline.store import SharedTable, Store, open_store
from pipeline.store.generations.generation_registry import Generation
from pipeline.text.analyzer import hash_terms


async def open_pipeline(resources: Resources, generation: Generation, *, bulk_load: bool = False) -> Pipeline:
    """Open a pipeline on a generation's tables, nothing running yet; the caller closes it.

    `bulk_load`: for a replay into shared tables that no other process has opened yet; it serves no requests.

    Raises:
        StoreMismatchError, ValueError: with a message for the operator.
    """
    if bulk_load:
        resources = replace(resources, locks=LocalLocks())
    index_config = resources.index_config(generation)
    embedder = resources.open_embedder(index_config)
    uri = resources.generations.uri(generation)
    store = await open_store(
        uri,
        dimensions=embedder.dimensions,
        shards=index_config.shards,
        embedder=embedder.name,
        locks=resources.locks if resources.is_multi_process else None,
        storage=resources.settings.storage_options(uri),
        tombstones=resources.tombstones,
        catalog=resources.catalog,
        bulk_load=bulk_load,
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        return _build_pipeline(resources, generation, store, embedder, stack.pop_all())


def _snapshot_options(
    resources: Resources, generation: Generation, store: Store, embedder: Embedder
) -> SnapshotOptions | None:
    settings = resources.settings
    if not settings.index_snapshot_bytes:
        return None
    # Numbers of removed generations are used again.
    filled = f"{generation.created_at} {generation.rollbacks}"
    return SnapshotOptions(
        identity=f"{resources.generations.uri(generation)} {filled} {embedder.name} {embedder.dimensions}",
        limit_bytes=settings.index_snapshot_bytes,
        max_outdated_seconds=settings.erasure_interval_hours * 3600,
        documents=store.documents,
        chunks=store.chunks,
        memories=store.memories,
    )


def _build_pipeline(
    resources: Resources, generation: Generation, store: Store, embedder: Embedder, exit_stack: AsyncExitStack
) -> Pipeline:
    fact_lookup = FactLookup(store.memories)
    index_cache = NamespaceIndexCache(
        store.documents,
        store.chunks,
        store.memories,
        store.catalog,
        resources.settings.index_cache_bytes,
        folder=resources.settings.data_dir / "index",
        snapshots=_snapshot_options(resources, generation, store, embedder),
    )
    exit_stack.push_async_callback(index_cache.close)
    memory_extractor = MemoryExtractor(
        documents=store.documents,
        catalog=store.catalog,
        publisher=resources.bus,
        fact_lookup=fact_lookup,
        index=index_cache,
        count_memories=store.memories.count_by_incarnation,
        fact_extractor=_build_fact_extractor(resources, store, embedder, index_cache),
    )
    deferred_extraction = _build_deferred_extraction(resources, store, memory_extractor)
    memory_repository = MemoryRepository(store.memories, fact_lookup, store.catalog, resources.locks)
    extract = _build_extract(resources, store, memory_repository)
    submissions = _follow_submissions(resources, generation, store, extract)
    exit_stack.push_async_callback(submissions.close)
    stages = _build_stages(
        resources,
        generation=generation,
        extract=extract,
        submissions=submissions,
        store=store,
        embedder=embedder,
        memory_repository=memory_repository,
        memory_extractor=memory_extractor,
        deferred_extraction=deferred_extraction,
    )
    return Pipeline(
        resources=resources,
        generation=generation,
        store=store,
        index_cache=index_cache,
        profiles=ProfileCache(
            documents=store.documents,
            memories=store.memories,
            catalog=store.catalog,
            embedder=embedder,
            clock=resources.clock,
            max_tokens=resources.settings.profile_max_tokens,
        ),
        memory_repository=memory_repository,
        embedder=embedder,
        deferred_extraction=deferred_extraction,
        expiry=ExpirationWorker(
            memories=store.memories,
            catalog=store.catalog,
            publisher=resources.bus,
            clock=resources.clock,
            locks=resources.locks,
        ),
        stage_set=stages,
        stages=(
            stages.shared_definitions(generation.number, resources.settings_lock.catch_up)
            if resources.is_multi_process
            else stages.definitions()
        ),
        submissions=submissions,
        publisher=PublishInterceptor(resources.bus),
        exit_stack=exit_stack,
    )


def _follow_submissions(
    resources: Resources, generation: Generation, store: Store, extract: ExtractStage
) -> SubmissionFollower:
    """Show submissions over tables that others write, or by writing the tables of this process."""
    definition = replace(extract.definition, generation=generation.number if resources.is_multi_process else 0)
    if isinstance(store.documents, SharedTable):
        documents: SharedTable[DocumentRow] = store.documents
        return SubmissionFollower(
            resources.bus,
            definition,
            show_over(documents, store.tombstones),
            drop_handled=documents.drop_written_changes,
        )
    return SubmissionFollower(resources.bus, definition, extract.apply_to_documents)


def _build_fact_extractor(
    resources: Resources, store: Store, embedder: Embedder, index_cache: NamespaceIndexCache
) -> FactExtractor:
    """Use the language model of the settings, or else rules."""
    if resources.language_model is None:
        return RuleBasedExtractor(resources.settings.memory_min_worth)
    return LlmExtractor(
        model=resources.language_model,
        catalog=store.catalog,
        nearest_memories=NearestMemoryFinder(
            index_cache, embedder, store.documents, store.memories.count_by_incarnation
        ),
        publisher=resources.bus,
        clock=resources.clock,
        input_tokens=resources.settings.llm_input_tokens,
        on_outcome=resources.metrics.observe_model_call,
        on_items=resources.metrics.observe_model_items,
    )


def _build_deferred_extraction(
    resources: Resources, store: Store, memory_extractor: MemoryExtractor
) -> DeferredExtraction:
    """Poll the shared tables where processes share them; else schedule in memory."""
    settings = resources.settings
    debounce_policy = DebouncePolicy.from_seconds(
        settings.dreaming_debounce_seconds, settings.dreaming_max_wait_seconds
    )
    enqueue = document_enqueuer(resources.bus, resources.blobs)
    if resources.is_multi_process:
        return DeferredExtractionPoller(
            documents=store.documents,
            catalog=store.catalog,
            clock=resources.clock,
            locks=resources.locks,
            debounce_policy=debounce_policy,
            enqueue=enqueue,
        )
    return DeferredExtractionWorker(
        memory_extractor=memory_extractor,
        documents=store.documents,
        catalog=store.catalog,
        clock=resources.clock,
        debounce_policy=debounce_policy,
        enqueue=enqueue,
    )


def _build_extract(resources: Resources, store: Store, memory_repository: MemoryRepository) -> ExtractStage:
    return ExtractStage(
        documents=store.documents,
        chunks=store.chunks,
        memory_repository=memory_repository,
        blobs=resources.blobs,
        catalog=store.catalog,
        publisher=resources.bus,
        document_parser=resources.document_parser,
        url_fetcher=resources.url_fetcher,
        summarize=summarize,
        tombstones=store.tombstones,
    )


def _build_stages(
    resources: Resources,
    *,
    generation: Generation,
    store: Store,
    embedder: Embedder,
    extract: ExtractStage,
    submissions: SubmissionFollower,
    memory_repository: MemoryRepository,
    memory_extractor: MemoryExtractor,
    deferred_extraction: DeferredExtraction,
) -> StageSet:
    documents, catalog, bus, blobs = store.documents, store.catalog, resources.bus, resources.blobs
    return StageSet(
        extract=extract,
        chunk=ChunkStage(
            documents=documents,
            blobs=blobs,
            catalog=catalog,
            publisher=bus,
            splitter=StructuredSplitter(resources.index_config(generation).chunk_size),
            generation=generation.number,
        ),
        index=IndexStage(
            documents=documents,
            chunks=store.chunks,
            blobs=blobs,
            catalog=catalog,
            count_terms=hash_terms,
            dimensions=embedder.dimensions,
            generation=generation.number,
        ),
        embed=EmbedStage(
            documents=documents,
            chunks=store.chunks,
            blobs=blobs,
            catalog=catalog,
            embedder=embedder,
            count_terms=hash_terms,
            generation=generation.number,
        ),
        form_memories=FormMemoriesStage(
            documents=documents,
            memories=store.memories,
            catalog=catalog,
            blobs=blobs,
            publisher=bus,
            memory_extractor=memory_extractor,
            deferred_extraction=deferred_extraction,
        ),
        project_memories=ProjectMemoriesStage(
            documents=documents,
            memories=store.memories,
            catalog=catalog,
            embedder=embedder,
            memory_repository=memory_repository,
            count_terms=hash_terms,
        ),
        forget_memories=ForgetMemoriesStage(catalog, memory_repository),
        operations=NamespaceOperationsStage(
            documents=documents,
            catalog=catalog,
            operations=store.operations,
            publisher=bus,
            clock=resources.clock,
            eraser=store,
            settings_lock=resources.settings_lock,
            submissions=submissions,
        ),
        sync_runs=SyncRunStages(store.syncs),
    )
