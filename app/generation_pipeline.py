"""The pipeline on one generation of tables: how it catches up, runs and maintains its tables."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from app.resources import Resources, local_folders
from app.submission_follower import SubmissionFollower
from pipeline.bus.port import Bus
from pipeline.health import HealthService
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.memory.scheduling.deferred_extraction_worker import DeferredExtraction
from pipeline.memory.scheduling.expiration_worker import ExpirationWorker
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.ports import Embedder, Position
from pipeline.profile.profile_cache import ProfileCache
from pipeline.runtime.outage_retry import run_through_outages
from pipeline.stage import Stage
from pipeline.stages.stage_set import StageSet
from pipeline.store import Store
from pipeline.store.generations.generation_registry import Generation
from schemas import topics
from schemas.base import Event
from schemas.topics import DOCUMENTS_SUBMITTED, Topic

E = TypeVar("E", bound=Event)

MAINTENANCE_INTERVAL_SECONDS = 300.0
CATCH_UP_TIMEOUT_SECONDS = 10.0
log = logging.getLogger(__name__)


class PublishInterceptor:
    """Publishes for requests and calls a hook afterwards, so that a successor pipeline sees the records at once."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._after_publish: Callable[[], Awaitable[None]] | None = None

    def set_after_publish(self, hook: Callable[[], Awaitable[None]] | None) -> None:
        """Await `hook` after every publication from now on; None: no hook."""
        self._after_publish = hook

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """Append to the log, then await the hook; see `Publisher.publish`."""
        positions = await self._bus.publish(topic, entries)
        if self._after_publish is not None:
            await self._after_publish()
        return positions


@dataclass(frozen=True, slots=True)
class Pipeline:
    resources: Resources
    generation: Generation
    store: Store
    index_cache: NamespaceIndexCache
    profiles: ProfileCache
    memory_repository: MemoryRepository
    embedder: Embedder
    deferred_extraction: DeferredExtraction
    expiry: ExpirationWorker
    stage_set: StageSet
    stages: Sequence[Stage[Any]]
    """The definitions of `stage_set`, as this process runs them."""
    submissions: SubmissionFollower
    """Shows submissions to readers; it begins with `apply_optimistically`."""
    publisher: PublishInterceptor
    """The publisher of requests."""
    exit_stack: AsyncExitStack

    @property
    def bus(self) -> Bus:
        return self.resources.bus

    @property
    def health(self) -> HealthService:
        folders = local_folders(self.resources.settings)
        metrics = self.resources.metrics
        return HealthService(self.bus, self.store, self.index_cache, metrics, folders, stages=self.stages)

    async def apply_optimistically(self) -> None:
        """Apply acknowledged records that have not reached the tables, so that readers see them."""
        await self.resources.settings_lock.catch_up()
        for stage in self.stages:
            if stage.source is DOCUMENTS_SUBMITTED:
                await self.submissions.catch_up()
            else:
                await self.bus.apply_optimistically([stage])

    async def catch_up(self) -> None:
        """Apply acknowledged records before the first run of the stages, memories included.

        Over shared tables only submissions are shown: other processes write the rest.

        Memories are written before they are forgotten, so that they stay forgotten. Writing them may need an
        embedder that does not answer now; the wait ends after `CATCH_UP_TIMEOUT_SECONDS`.
        """
        if self.resources.is_multi_process:
            await self.submissions.catch_up()
            return
        await self.apply_optimistically()
        stages = {stage.name: stage for stage in self.stages}
        writing = asyncio.create_task(self.store.run())
        try:
            async with asyncio.timeout(CATCH_UP_TIMEOUT_SECONDS):
                for name in ("project_memories", "forget_memories"):
                    await self.bus.run([stages[name]], until_idle=True)
        except TimeoutError:
            log.warning("Memories submitted before the start are still being written.")
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    async def run_tables(self, *, serves_requests: bool = True) -> None:
        """Write, follow and maintain tables and snapshots of the index until `close`."""
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self.store.run(serves_requests=serves_requests))
            parts.create_task(self.index_cache.run())

    async def run_stages(self) -> None:
        """Run until cancelled, beside `run_tables`; every part outlives outages, an unexpected error propagates."""
        async with asyncio.TaskGroup() as parts:
            for name, work in (
                ("Running the stages", partial(self.bus.run, self.stages)),
                ("Deferred extraction", self.deferred_extraction.run),
                ("Forgetting expired memories", self.expiry.run),
                ("Erasing deleted namespaces", self._erase_orphans_exclusively),
                ("Maintenance of the log", self._maintain),
            ):
                parts.create_task(run_through_outages(name, work))

    async def close(self) -> None:
        await self.exit_stack.aclose()

    async def _erase_orphans_exclusively(self) -> None:
        async with self.resources.locks.acquire("sweep"):
            await self._erase_orphaned_incarnations()

    async def _erase_orphaned_incarnations(self) -> None:
        """Erase incarnations whose process died after deleting the namespace and before requesting the purge."""
        owner = self.store.catalog.namespace_of
        unowned = {incarnation for incarnation in await self.store.incarnations() if owner(incarnation) is None}
        if unowned:
            log.info("Erasing %d incarnations that no namespace owns.", len(unowned))
            await self.store.delete_incarnations(unowned)

    async def _maintain(self) -> None:
        while True:
            await asyncio.sleep(MAINTENANCE_INTERVAL_SECONDS)
            removed = await self.bus.maintain(topics.ALL_TOPICS)
            log.debug("Retention and compaction removed %d records.", removed)
