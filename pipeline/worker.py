"""The pipeline put together on one generation of tables: adapters and stages. Rules live elsewhere."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pipeline.bus.port import Bus
from pipeline.changes import Changes
from pipeline.extraction.split import StructuredSplitter
from pipeline.extraction.summary import summarize
from pipeline.foundation import Foundation
from pipeline.index.cache import NamespaceCache
from pipeline.locks import LocalLocks
from pipeline.measuring import Measuring
from pipeline.memory.by_model import ByModel
from pipeline.memory.dreamer import Dreamer, Dreaming
from pipeline.memory.expiry import Expiry
from pipeline.memory.extraction import ByRules, Extraction
from pipeline.memory.former import Former
from pipeline.memory.keeper import Keeper
from pipeline.memory.ledger import Ledger
from pipeline.memory.nearby import NearbyMemories
from pipeline.memory.schedule import Schedule
from pipeline.memory.watch import Watch
from pipeline.ports import Blobs, Clock, Embedder, Position, Tombstones
from pipeline.profile.view import Profiles
from pipeline.stage import Stage, knowing
from pipeline.stages import chunk, embed, extract, forget, form, operations, relate, syncs
from pipeline.stages import settings as settings_stage
from pipeline.store import Store, open_store
from pipeline.store.generations import Generation, Recipe
from pipeline.text.terms import hashed
from schemas import topics
from schemas.base import Event
from schemas.topics import Topic

E = TypeVar("E", bound=Event)

MAINTENANCE_SECONDS = 300.0
CATCH_UP_SECONDS = 10.0
log = logging.getLogger(__name__)


class Relay:
    """Publishes for requests; while another pipeline takes over, it sees at once what was published here."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._see: Callable[[], Awaitable[None]] | None = None

    def show(self, see: Callable[[], Awaitable[None]] | None) -> None:
        """Call `see` after every publication from now on; None: nobody takes over any more."""
        self._see = see

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """As `Publisher.publish`."""
        positions = await self._bus.publish(topic, entries)
        if self._see is not None:
            await self._see()
        return positions


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts of a pipeline on one generation, for whoever serves them."""

    foundation: Foundation
    generation: Generation
    store: Store
    cache: NamespaceCache
    profiles: Profiles
    keeper: Keeper
    embedder: Embedder
    dreamer: Dreaming
    expiry: Expiry
    stages: Sequence[Stage[Any]]
    publisher: Relay
    """What requests publish with."""
    closing: AsyncExitStack

    @property
    def bus(self) -> Bus:
        return self.foundation.bus

    @property
    def blobs(self) -> Blobs:
        return self.foundation.blobs

    @property
    def clock(self) -> Clock:
        return self.foundation.clock

    @property
    def changes(self) -> Changes:
        return self.foundation.changes

    @property
    def tombstones(self) -> Tombstones:
        """What was deleted ahead of the log: known to whoever may be behind with it."""
        return self.store.tombstones

    @property
    def measuring(self) -> Measuring:
        """For metrics and readiness."""
        folder = self.foundation.settings.data_dir
        metrics = self.foundation.metrics
        return Measuring(self.bus, self.store, self.cache, metrics, folder, stages=self.stages)

    async def foresee(self) -> None:
        """Show what was acknowledged and has not reached the tables: as whoever acknowledged it saw it."""
        await self.changes.current()
        await self.bus.foresee(self.stages)

    async def catch_up(self) -> None:
        """The same before the first `work`, with memories too; nothing where tables are shared.

        There a request is acknowledged when the tables have it, so there is nothing to catch up with.

        Memories come before what was forgotten of them, so that it stays forgotten. That may need an
        embedder that does not answer now, so it is not waited for very long.
        """
        if self.foundation.shared:
            return
        await self.foresee()
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

    async def work(self) -> None:
        """Until cancelled, beside `store.run()`; an unforeseen error of any part ends it with that error."""
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self.bus.run(self.stages))
            parts.create_task(self.dreamer.run())
            parts.create_task(self.expiry.run())
            parts.create_task(self._sweep_in_turn())
            parts.create_task(self._maintain())

    async def close(self) -> None:
        """Stop following the log, and write what still waits."""
        await self.closing.aclose()

    async def _sweep_in_turn(self) -> None:
        async with self.foundation.locks.hold("sweep"):
            await self._sweep()

    async def _sweep(self) -> None:
        """Erase what a process left that ended between a namespace's end and the request to purge it."""
        spaces: set[str] = set()
        for table in (self.store.documents, self.store.chunks, self.store.memories):
            _, rows = await table.scan(None, "true", ["space", table.codec.group])
            # In a thread, which lets go of the interpreter: it takes long where there are millions of rows.
            found = await asyncio.to_thread(rows.column("space").unique)
            spaces.update(found.to_pylist())
        unowned = {space for space in spaces if self.store.catalog.owner(space) is None}
        if unowned:
            log.info("Erasing %d spaces that no namespace owns any more.", len(unowned))
            await self.store.remove_spaces(unowned)

    async def _maintain(self) -> None:
        while True:
            await asyncio.sleep(MAINTENANCE_SECONDS)
            removed = await self.bus.maintain(topics.ALL)
            log.debug("Retention and compaction removed %d records.", removed)


async def open_pipeline(foundation: Foundation, generation: Generation, *, filling: bool = False) -> Pipeline:
    """A pipeline on a generation's tables, nothing running yet. Whoever opens it closes it.

    `filling`: on tables for several processes that only this one knows of yet; it makes their rows from the
    log, and serves nobody. StoreMismatchError and ValueError carry messages for the operator.
    """
    if filling:
        foundation = replace(foundation, locks=LocalLocks())
    recipe = foundation.recipe(generation)
    embedder = foundation.embedder(recipe)
    uri = foundation.generations.uri(generation)
    store = await open_store(
        uri,
        dimensions=embedder.dimensions,
        shards=recipe.shards,
        embedder=embedder.name,
        locks=foundation.locks if foundation.shared else None,
        storage=foundation.settings.storage(uri),
        tombstones=foundation.tombstones,
        catalog=foundation.catalog,
        filling=filling,
    )
    async with AsyncExitStack() as opened:
        opened.push_async_callback(store.close)
        return assembled(foundation, generation, store, embedder, opened.pop_all())


def assembled(
    foundation: Foundation,
    generation: Generation,
    store: Store,
    embedder: Embedder,
    closing: AsyncExitStack,
) -> Pipeline:
    """The same on a store that is open; `closing` closes it."""
    ledger = Ledger(store.memories)
    cache = NamespaceCache(
        store.documents,
        store.chunks,
        store.memories,
        store.catalog,
        foundation.settings.cache_bytes,
        folder=foundation.settings.data_dir / "index",
    )
    former = Former(
        documents=store.documents,
        catalog=store.catalog,
        publisher=foundation.bus,
        ledger=ledger,
        index=cache,
        count=store.memories.count,
        extraction=_extraction(foundation, store, embedder, cache),
    )
    dreamer = _dreaming(foundation, store, former)
    keeper = Keeper(store.memories, ledger, store.catalog, foundation.locks)
    parts = _Parts(foundation, generation, store, embedder, keeper, former, dreamer)
    return Pipeline(
        foundation=foundation,
        generation=generation,
        store=store,
        cache=cache,
        profiles=Profiles(
            documents=store.documents,
            memories=store.memories,
            catalog=store.catalog,
            embedder=embedder,
            clock=foundation.clock,
        ),
        keeper=keeper,
        embedder=embedder,
        dreamer=dreamer,
        expiry=Expiry(
            memories=store.memories,
            catalog=store.catalog,
            publisher=foundation.bus,
            clock=foundation.clock,
            locks=foundation.locks,
        ),
        stages=parts.stages(),
        publisher=Relay(foundation.bus),
        closing=closing,
    )


def _extraction(
    foundation: Foundation, store: Store, embedder: Embedder, cache: NamespaceCache
) -> Extraction:
    """Rules, or the language model of the settings."""
    if foundation.model is None:
        return ByRules()
    return ByModel(
        model=foundation.model,
        catalog=store.catalog,
        nearby=NearbyMemories(cache, embedder, store.documents, store.memories.count),
        publisher=foundation.bus,
        clock=foundation.clock,
        input_tokens=foundation.settings.llm_input_tokens,
        told=foundation.metrics.asked,
    )


def _dreaming(foundation: Foundation, store: Store, former: Former) -> Dreaming:
    settings = foundation.settings
    schedule = Schedule.of(settings.dreaming_quiet_seconds, settings.dreaming_longest_seconds)
    hand_over = form.handing_over(foundation.bus, foundation.blobs)
    if foundation.shared:
        return Watch(
            documents=store.documents,
            catalog=store.catalog,
            clock=foundation.clock,
            locks=foundation.locks,
            schedule=schedule,
            hand_over=hand_over,
        )
    return Dreamer(
        former=former,
        documents=store.documents,
        catalog=store.catalog,
        clock=foundation.clock,
        schedule=schedule,
        hand_over=hand_over,
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the stages are made of."""

    foundation: Foundation
    generation: Generation
    store: Store
    embedder: Embedder
    keeper: Keeper
    former: Former
    dreamer: Dreaming

    @property
    def recipe(self) -> Recipe:
        return self.foundation.recipe(self.generation)

    def stages(self) -> list[Stage[Any]]:
        """What comes first is foreseen first: documents are nobody's before their namespace is known.

        Where processes share the log, each follows the settings by itself, and knows them before a batch.
        """
        if self.foundation.shared:
            current = self.foundation.changes.current
            stages = [settings_stage.watch(), *(knowing(stage, current) for stage in self._stages())]
            return [replace(stage, generation=self.generation.number) for stage in stages]
        return [settings_stage.build(catalog=self.store.catalog), *self._stages()]

    def _stages(self) -> list[Stage[Any]]:
        return [
            *self._texts(),
            *self._memories(),
            self._operations(),
            syncs.asked(syncs=self.store.syncs),
            syncs.told(syncs=self.store.syncs),
        ]

    def _texts(self) -> list[Stage[Any]]:
        """From what was sent to passages that can be found."""
        store, blobs, bus = self.store, self.foundation.blobs, self.foundation.bus
        return [
            extract.build(
                documents=store.documents,
                chunks=store.chunks,
                keeper=self.keeper,
                blobs=blobs,
                catalog=store.catalog,
                publisher=bus,
                extractor=self.foundation.extractor,
                fetcher=self.foundation.fetcher,
                summarize=summarize,
                tombstones=store.tombstones,
            ),
            chunk.build(
                documents=store.documents,
                blobs=blobs,
                catalog=store.catalog,
                publisher=bus,
                splitter=StructuredSplitter(self.recipe.chunk_size),
                generation=self.generation.number,
            ),
            embed.build(
                documents=store.documents,
                chunks=store.chunks,
                blobs=blobs,
                catalog=store.catalog,
                embedder=self.embedder,
                terms=hashed,
                generation=self.generation.number,
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
                blobs=self.foundation.blobs,
                publisher=self.foundation.bus,
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
            publisher=self.foundation.bus,
            clock=self.foundation.clock,
            store=self.store,
            turn=self.foundation.changes.turn,
        )
