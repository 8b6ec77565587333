"""Builds the pipeline of a generation: tables, index, memory services and stages."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from app.generation_pipeline import Pipeline, PublishInterceptor
from app.resources import Resources
from app.submission_follower import SubmissionFollower, show_over
from app.wiring import wire
from pipeline.bus.port import Bus
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

T = TypeVar("T")


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
    target: Generation
    store: Store
    embedder: Embedder
    exit_stack: AsyncExitStack

    def _make(self, kind: Callable[..., T], **given: Any) -> T:
        """Make a part of others of this builder, of the store and of the resources."""
        return wire(kind, self, self.store, self.resources, **given)

    def build(self) -> Pipeline:
        self.exit_stack.push_async_callback(self.index_cache.close)
        self.exit_stack.push_async_callback(self.submissions.close)
        stages = self._build_stages()
        return self._make(
            Pipeline,
            generation=self.target,
            profiles=self._make(ProfileCache, max_tokens=self.resources.settings.profile_max_tokens),
            expiry=self._make(ExpirationWorker),
            stage_set=stages,
            stages=(
                stages.shared_definitions(self.generation, self.resources.settings_lock.catch_up)
                if self.resources.is_multi_process
                else stages.definitions()
            ),
            publisher=PublishInterceptor(self.resources.bus),
        )

    @property
    def generation(self) -> int:
        return self.target.number

    @property
    def publisher(self) -> Bus:
        return self.resources.bus

    @cached_property
    def index_cache(self) -> NamespaceIndexCache:
        return self._make(
            NamespaceIndexCache,
            limit_bytes=self.resources.settings.index_cache_bytes,
            folder=self.resources.settings.data_dir / "index",
            snapshots=self._snapshot_options(),
        )

    def _snapshot_options(self) -> SnapshotOptions | None:
        resources, embedder = self.resources, self.embedder
        if not resources.settings.index_snapshot_bytes:
            return None
        # Numbers of removed generations are used again.
        filled = f"{self.target.created_at} {self.target.rollbacks}"
        return self._make(
            SnapshotOptions,
            identity=f"{resources.generations.uri(self.target)} {filled} {embedder.name} {embedder.dimensions}",
            limit_bytes=resources.settings.index_snapshot_bytes,
            max_outdated_seconds=resources.settings.erasure_interval_hours * 3600,
        )

    @cached_property
    def fact_lookup(self) -> FactLookup:
        return FactLookup(self.store.memories)

    @cached_property
    def memory_repository(self) -> MemoryRepository:
        return self._make(MemoryRepository)

    @cached_property
    def memory_extractor(self) -> MemoryExtractor:
        return self._make(
            MemoryExtractor,
            index=self.index_cache,
            count_memories=self.store.memories.count_by_incarnation,
            rules=RuleBasedExtractor(self.resources.settings.memory_min_worth, ShortMessages(self.embedder)),
            fact_extractor=self._build_llm_extractor(),
        )

    def _build_llm_extractor(self) -> LlmExtractor | None:
        """Use the language model of the settings, if there is one."""
        resources = self.resources
        if resources.language_model is None:
            return None
        return self._make(
            LlmExtractor,
            model=resources.language_model,
            nearest_memories=self._make(
                NearestMemoryFinder,
                index=self.index_cache,
                count_memories=self.store.memories.count_by_incarnation,
            ),
            input_tokens=resources.settings.llm_input_tokens,
            on_outcome=resources.metrics.observe_model_call,
            on_items=resources.metrics.observe_model_items,
        )

    @cached_property
    def deferred_extraction(self) -> DeferredExtraction:
        """Poll the shared tables where processes share them; else schedule in memory."""
        resources, settings = self.resources, self.resources.settings
        kind: Callable[..., DeferredExtraction] = (
            DeferredExtractionPoller if resources.is_multi_process else DeferredExtractionWorker
        )
        return self._make(
            kind,
            debounce_policy=DebouncePolicy.from_seconds(
                settings.dreaming_debounce_seconds, settings.dreaming_max_wait_seconds
            ),
            enqueue=document_enqueuer(resources.bus, resources.blobs),
        )

    @cached_property
    def extract(self) -> ExtractStage:
        return self._make(ExtractStage, summarize=summarize)

    @cached_property
    def submissions(self) -> SubmissionFollower:
        """Show submissions over tables that others write, or by writing the tables of this process."""
        bus, store = self.resources.bus, self.store
        definition = replace(
            self.extract.definition, generation=self.generation if self.resources.is_multi_process else 0
        )
        if isinstance(store.documents, SharedTable):
            documents: SharedTable[DocumentRow] = store.documents
            show = show_over(documents, store.tombstones)
            return SubmissionFollower(bus, definition, show, drop_handled=documents.drop_written_changes)
        return SubmissionFollower(bus, definition, self.extract.apply_to_documents)

    def _build_stages(self) -> StageSet:
        chunk_size = self.resources.index_config(self.target).chunk_size
        return StageSet(
            extract=self.extract,
            chunk=self._make(ChunkStage, splitter=StructuredSplitter(chunk_size)),
            index=self._make(IndexStage, count_terms=hash_terms, dimensions=self.embedder.dimensions),
            embed=self._make(EmbedStage, count_terms=hash_terms),
            form_memories=self._make(FormMemoriesStage),
            project_memories=self._make(ProjectMemoriesStage, count_terms=hash_terms),
            forget_memories=self._make(ForgetMemoriesStage),
            operations=self._make(NamespaceOperationsStage, eraser=self.store),
            sync_runs=SyncRunStages(self.store.syncs),
        )
