"""Builds the pipeline of a generation: tables, index, memory services and stages."""

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import cached_property

from app.generation_pipeline import Pipeline, PublishInterceptor
from app.resources import Resources
from app.submission_follower import SubmissionFollower, show_over
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.index.snapshots.index_snapshots import SnapshotOptions
from pipeline.memory.formation.fact_extractor import RuleBasedExtractor
from pipeline.memory.formation.llm_extractor import LlmExtractor
from pipeline.memory.formation.memory_extractor import MemoryExtractor
from pipeline.memory.formation.nearest_memories import NearestMemoryFinder
from pipeline.memory.languages.short_messages import ShortMessages
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
        return _PipelineBuilder(resources, generation, store, embedder, stack.pop_all()).build()


@dataclass(frozen=True)
class _PipelineBuilder:
    """Builds each part of a pipeline once, when another part first needs it."""

    resources: Resources
    generation: Generation
    store: Store
    embedder: Embedder
    exit_stack: AsyncExitStack

    def build(self) -> Pipeline:
        resources, store = self.resources, self.store
        self.exit_stack.push_async_callback(self.index_cache.close)
        self.exit_stack.push_async_callback(self.submissions.close)
        stages = self._build_stages()
        return Pipeline(
            resources=resources,
            generation=self.generation,
            store=store,
            index_cache=self.index_cache,
            profiles=ProfileCache(
                documents=store.documents,
                memories=store.memories,
                catalog=store.catalog,
                embedder=self.embedder,
                clock=resources.clock,
                max_tokens=resources.settings.profile_max_tokens,
            ),
            memory_repository=self.memory_repository,
            embedder=self.embedder,
            deferred_extraction=self.deferred_extraction,
            expiry=ExpirationWorker(
                memories=store.memories,
                catalog=store.catalog,
                publisher=resources.bus,
                clock=resources.clock,
                locks=resources.locks,
            ),
            stage_set=stages,
            stages=(
                stages.shared_definitions(self.generation.number, resources.settings_lock.catch_up)
                if resources.is_multi_process
                else stages.definitions()
            ),
            submissions=self.submissions,
            publisher=PublishInterceptor(resources.bus),
            exit_stack=self.exit_stack,
        )

    @cached_property
    def index_cache(self) -> NamespaceIndexCache:
        return NamespaceIndexCache(
            self.store.documents,
            self.store.chunks,
            self.store.memories,
            self.store.catalog,
            self.resources.settings.index_cache_bytes,
            folder=self.resources.settings.data_dir / "index",
            snapshots=self._snapshot_options(),
        )

    def _snapshot_options(self) -> SnapshotOptions | None:
        resources, generation, embedder = self.resources, self.generation, self.embedder
        if not resources.settings.index_snapshot_bytes:
            return None
        # Numbers of removed generations are used again.
        filled = f"{generation.created_at} {generation.rollbacks}"
        return SnapshotOptions(
            identity=f"{resources.generations.uri(generation)} {filled} {embedder.name} {embedder.dimensions}",
            limit_bytes=resources.settings.index_snapshot_bytes,
            max_outdated_seconds=resources.settings.erasure_interval_hours * 3600,
            documents=self.store.documents,
            chunks=self.store.chunks,
            memories=self.store.memories,
        )

    @cached_property
    def fact_lookup(self) -> FactLookup:
        return FactLookup(self.store.memories)

    @cached_property
    def memory_repository(self) -> MemoryRepository:
        return MemoryRepository(self.store.memories, self.fact_lookup, self.store.catalog, self.resources.locks)

    @cached_property
    def memory_extractor(self) -> MemoryExtractor:
        return MemoryExtractor(
            documents=self.store.documents,
            catalog=self.store.catalog,
            publisher=self.resources.bus,
            fact_lookup=self.fact_lookup,
            index=self.index_cache,
            count_memories=self.store.memories.count_by_incarnation,
            rules=RuleBasedExtractor(self.resources.settings.memory_min_worth, ShortMessages(self.embedder)),
            fact_extractor=self._build_llm_extractor(),
        )

    def _build_llm_extractor(self) -> LlmExtractor | None:
        """Use the language model of the settings, if there is one."""
        resources, store = self.resources, self.store
        if resources.language_model is None:
            return None
        return LlmExtractor(
            model=resources.language_model,
            catalog=store.catalog,
            nearest_memories=NearestMemoryFinder(
                self.index_cache, self.embedder, store.documents, store.memories.count_by_incarnation
            ),
            publisher=resources.bus,
            clock=resources.clock,
            input_tokens=resources.settings.llm_input_tokens,
            on_outcome=resources.metrics.observe_model_call,
            on_items=resources.metrics.observe_model_items,
        )

    @cached_property
    def deferred_extraction(self) -> DeferredExtraction:
        """Poll the shared tables where processes share them; else schedule in memory."""
        resources, settings = self.resources, self.resources.settings
        debounce_policy = DebouncePolicy.from_seconds(
            settings.dreaming_debounce_seconds, settings.dreaming_max_wait_seconds
        )
        enqueue = document_enqueuer(resources.bus, resources.blobs)
        if resources.is_multi_process:
            return DeferredExtractionPoller(
                documents=self.store.documents,
                catalog=self.store.catalog,
                clock=resources.clock,
                locks=resources.locks,
                debounce_policy=debounce_policy,
                enqueue=enqueue,
            )
        return DeferredExtractionWorker(
            memory_extractor=self.memory_extractor,
            documents=self.store.documents,
            catalog=self.store.catalog,
            clock=resources.clock,
            debounce_policy=debounce_policy,
            enqueue=enqueue,
        )

    @cached_property
    def extract(self) -> ExtractStage:
        resources, store = self.resources, self.store
        return ExtractStage(
            documents=store.documents,
            chunks=store.chunks,
            memory_repository=self.memory_repository,
            blobs=resources.blobs,
            catalog=store.catalog,
            publisher=resources.bus,
            document_parser=resources.document_parser,
            url_fetcher=resources.url_fetcher,
            summarize=summarize,
            tombstones=store.tombstones,
        )

    @cached_property
    def submissions(self) -> SubmissionFollower:
        """Show submissions over tables that others write, or by writing the tables of this process."""
        bus, store = self.resources.bus, self.store
        generation = self.generation.number if self.resources.is_multi_process else 0
        definition = replace(self.extract.definition, generation=generation)
        if isinstance(store.documents, SharedTable):
            documents: SharedTable[DocumentRow] = store.documents
            show = show_over(documents, store.tombstones)
            return SubmissionFollower(bus, definition, show, drop_handled=documents.drop_written_changes)
        return SubmissionFollower(bus, definition, self.extract.apply_to_documents)

    def _build_stages(self) -> StageSet:
        store, resources, generation = self.store, self.resources, self.generation.number
        documents, catalog, bus, blobs = store.documents, store.catalog, resources.bus, resources.blobs
        return StageSet(
            extract=self.extract,
            chunk=ChunkStage(
                documents=documents,
                blobs=blobs,
                catalog=catalog,
                publisher=bus,
                splitter=StructuredSplitter(resources.index_config(self.generation).chunk_size),
                generation=generation,
            ),
            index=IndexStage(
                documents=documents,
                chunks=store.chunks,
                blobs=blobs,
                catalog=catalog,
                count_terms=hash_terms,
                dimensions=self.embedder.dimensions,
                generation=generation,
            ),
            embed=EmbedStage(
                documents=documents,
                chunks=store.chunks,
                blobs=blobs,
                catalog=catalog,
                embedder=self.embedder,
                count_terms=hash_terms,
                generation=generation,
            ),
            form_memories=FormMemoriesStage(
                documents=documents,
                memories=store.memories,
                catalog=catalog,
                blobs=blobs,
                publisher=bus,
                memory_extractor=self.memory_extractor,
                deferred_extraction=self.deferred_extraction,
            ),
            project_memories=ProjectMemoriesStage(
                documents=documents,
                memories=store.memories,
                catalog=catalog,
                embedder=self.embedder,
                memory_repository=self.memory_repository,
                count_terms=hash_terms,
            ),
            forget_memories=ForgetMemoriesStage(catalog, self.memory_repository),
            operations=NamespaceOperationsStage(
                documents=documents,
                catalog=catalog,
                operations=store.operations,
                publisher=bus,
                clock=resources.clock,
                eraser=store,
                settings_lock=resources.settings_lock,
                submissions=self.submissions,
            ),
            sync_runs=SyncRunStages(store.syncs),
        )
