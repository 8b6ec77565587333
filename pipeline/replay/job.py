"""Replays, one at a time in whatever process, asked for by an operator, beside the pipeline that serves."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta

from pipeline.errors import OutageError
from pipeline.live import GRACE_SECONDS, Live
from pipeline.ports import Hold
from pipeline.replay.copying import Copying
from pipeline.replay.handover import Handover, SharedHandover, positions
from pipeline.replay.order import Order, Plan, Progress, ReplayError
from pipeline.replay.rebuild import EFFECTS_FIRST, Rebuild
from pipeline.stage import group_of
from pipeline.store.generations import Generation, Generations, Offsets
from pipeline.turns import behind
from pipeline.worker import Pipeline, open_pipeline
from schemas.topics import (
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORGOTTEN,
    MEMORIES_FORMED,
)

log = logging.getLogger(__name__)

TAIL = 256
"""Records that may be left to read when the switch begins, and nobody works on the log until it is done."""
MANY = 50_000
"""Records from which on tables are compacted before they are served; smaller ones are soon after that."""
ROUNDS = 20
TURN_SECONDS = 20.0
"""How long to wait for another process's replay: long enough for the lock of one that died to be free."""
REPORT_SECONDS = 1.0
SILENCE = timedelta(seconds=60)
"""Whoever replays in another process and was not heard of for so long has died."""


class Replays:
    """`start` returns at once; `progress` tells how it goes, also when it has ended."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._progress = Progress()
        self._task: asyncio.Task[None] | None = None

    @property
    def progress(self) -> Progress:
        """Of the replay that runs, or ran last, in this process."""
        return self._progress

    async def look(self) -> Progress:
        """Of the replay that runs, or ran last, in any process."""
        if not self._live.foundation.shared:
            return self._progress
        value = await self._generations.reported()
        reported = Progress() if value is None else Progress.read_from(value)
        if not reported.is_later_than(self._progress):
            return self._progress
        told_at = reported.told_at
        if reported.state == "running" and told_at is not None and self._now() - told_at > SILENCE:
            reported.end("failed", self._now(), "The process that replayed was not heard of any more.")
        return reported

    async def plan(self, order: Order) -> Plan:
        """What a replay would read and write; nothing is changed."""
        served = await self._generations.served()
        order.check(self._live.foundation.recipe(served.current))
        recipe = order.recipe(self._live.foundation.recipe(served.current))
        ends = {topic.name: dict(await self._live.foundation.bus.ends(topic.name)) for topic in EFFECTS_FIRST}
        spaces = [space for row in self._live.pipeline.store.catalog.namespaces() for space in row.spaces]
        store = self._live.pipeline.store
        return Plan(
            current=served.current.number,
            previous=None if served.previous is None else served.previous.number,
            recipe=recipe,
            records={topic: sum(partitions.values()) for topic, partitions in sorted(ends.items())},
            documents=sum(store.documents.count(spaces).values()),
            chunks=sum(store.chunks.count(spaces).values()),
            memories=sum(store.memories.count(spaces).values()),
            bytes=await self._generations.size(served.current),
        )

    def start(self, order: Order) -> None:
        """Begin; ReplayError when one runs already."""
        self._begin(lambda hold: self._replay(order, hold))

    def roll_back(self) -> None:
        """Begin to go back to the previous generation; ReplayError when a replay runs."""
        self._begin(self._roll_back)

    async def clean_up(self) -> list[int]:
        """Remove the previous generation and what no replay finished; their numbers."""
        self._idle()
        async with self._alone():
            served = await self._generations.served()
            if served.previous is None:
                return await self._sweep()
            gone = served.previous.number
            await self._generations.serve(served.current, None)
            if self._live.foundation.shared:
                # Another process may have its last requests on these tables.
                await asyncio.sleep(GRACE_SECONDS)
            return sorted({gone, *await self._sweep()})

    async def cancel(self) -> None:
        """End the replay that runs here, or ask the process where one runs to end it.

        The generation that is served was never touched.
        """
        if self._task is None or self._task.done():
            running = await self.look()
            if running.state == "running":
                await self._generations.wish(running.name)
            return
        await self.stop()

    async def stop(self) -> None:
        """End the replay that runs in this process, if any."""
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
            if self._progress.state == "running":
                # It had not taken its first step.
                self._progress.end("cancelled", self._now())

    async def finished(self) -> Progress:
        """Wait for the replay that runs."""
        if self._task is not None:
            await asyncio.wait([self._task])
        return self._progress

    @property
    def _generations(self) -> Generations:
        return self._live.foundation.generations

    def _idle(self) -> None:
        if self._task is not None and not self._task.done():
            raise ReplayError("A replay is running. Wait for it, or cancel it.")

    def _begin(self, work: Callable[[Hold], Awaitable[None]]) -> None:
        self._idle()
        self._progress = Progress(state="running", started_at=self._now())
        self._task = asyncio.create_task(behind(lambda: self._guarded(work)))

    async def _guarded(self, work: Callable[[Hold], Awaitable[None]]) -> None:
        """However it ends, whoever asks is told."""
        async with self._reporting():
            await self._told(work)

    async def _told(self, work: Callable[[Hold], Awaitable[None]]) -> None:
        try:
            async with self._alone() as hold:
                try:
                    await work(hold)
                finally:
                    await self._sweep()
        except asyncio.CancelledError:
            self._progress.end("cancelled", self._now())
            raise
        except Exception as error:
            log.exception("The replay has failed; what is served is as it was.")
            self._progress.end("failed", self._now(), str(error) or type(error).__name__)
        else:
            self._progress.end("done", self._now())

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[Hold]:
        """While nobody else replays, or cleans up, in whatever process; ReplayError when somebody does."""
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    hold = await held.enter_async_context(self._live.foundation.locks.hold("replay"))
            except TimeoutError as error:
                raise ReplayError(
                    "A replay is running in another process. Wait for it, or cancel it."
                ) from error
            yield hold

    @asynccontextmanager
    async def _reporting(self) -> AsyncIterator[None]:
        """Let other processes see how it goes, where there are others."""
        if not self._live.foundation.shared:
            yield
            return
        reporting = asyncio.create_task(self._report_on())
        try:
            yield
        finally:
            reporting.cancel()
            await asyncio.wait([reporting])
            with suppress(OutageError):
                await self._report()

    async def _report_on(self) -> None:
        while True:
            try:
                await self._report()
                wished = await self._generations.wished()
            except OutageError as error:
                log.info("How the replay goes can't be told now: %s", error)
            else:
                if wished == self._progress.name and self._task is not None:
                    self._task.cancel()
                    return
            await asyncio.sleep(REPORT_SECONDS)

    async def _report(self) -> None:
        self._progress.told_at = self._now()
        await self._generations.report(self._progress.written())

    async def _sweep(self) -> list[int]:
        """Remove tables that nobody serves, and the positions of who filled them."""
        gone = await self._generations.sweep()
        if self._live.foundation.shared:
            for number in gone:
                await self._forget(number)
        return gone

    async def _forget(self, number: int) -> None:
        for stage in self._live.pipeline.stages:
            try:
                await self._live.foundation.bus.forget(group_of(stage.name, number))
            except ValueError as error:
                log.warning("%s: it belonged to generation %d, which is gone.", error, number)

    async def _replay(self, order: Order, hold: Hold) -> None:
        served = await self._generations.served()
        before = self._live.foundation.recipe(served.current)
        order.check(before)
        recipe = order.recipe(before)
        generation = await self._generations.begin(recipe, self._now())
        self._progress.generation = generation.number
        same = recipe == before
        begun = await self._begun(order)
        await self._switch_to(generation, begun, hold, fresh=True, same=same, force=order.force, order=order)

    async def _begun(self, order: Order) -> Offsets:
        """From where the log is to be read: what is copied holds what came before."""
        if not order.copies:
            return {}
        # Asked before anything is copied. Texts are looked through from the start: which were embedded by
        # then, their documents say.
        there = await positions(self._live.pipeline)
        copied = [DOCUMENTS_SUBMITTED.name]
        if order.stage is not None:
            copied += [MEMORIES_FORMED.name, MEMORIES_FORGOTTEN.name]
        return {topic: there[topic] for topic in copied}

    async def _roll_back(self, hold: Hold) -> None:
        served = await self._generations.served()
        if served.previous is None:
            raise ReplayError("There is no previous generation to go back to.")
        self._progress.generation = served.previous.number
        # Texts are looked through from the start: some were chunked and not yet embedded when it was left.
        offsets = {
            topic: read
            for topic, read in served.previous.offsets.items()
            if topic != DOCUMENTS_EXTRACTED.name
        }
        # What it lacks came in while another was served; nothing is compared with that one.
        await self._switch_to(served.previous, offsets, hold, fresh=False, same=False, force=True)

    async def _switch_to(
        self,
        generation: Generation,
        offsets: Offsets,
        hold: Hold,
        *,
        fresh: bool,
        same: bool,
        force: bool,
        order: Order | None = None,
    ) -> None:
        """Fill a generation and serve it."""
        shared = self._live.foundation.shared
        pipeline = await open_pipeline(self._live.foundation, generation, filling=shared)
        copying = self._copying(order, pipeline)
        rebuild = Rebuild(
            pipeline,
            offsets,
            # Copied memories have sources that were never read here.
            fresh=fresh and not (copying is not None and copying.memories),
            told=self._progress.tell,
            copying=copying,
        )
        kind = SharedHandover if shared else Handover
        takeover = kind(self._live, pipeline, rebuild, self._progress, hold, same=same, force=force)
        try:
            await takeover.begin()
            await self._read_all(rebuild)
            if self._progress.read >= MANY:
                self._progress.step = "compacting"
                await pipeline.store.maintain()
            self._progress.step = "switching"
            await self._live.switch(takeover)
        except BaseException:
            await takeover.close()
            raise

    def _copying(self, order: Order | None, pipeline: Pipeline) -> Copying | None:
        if order is None or not order.copies:
            return None
        anew = pipeline.embedder if order.stage == "embed" else None
        return Copying(self._live.pipeline.store, memories=order.stage is not None, embedder=anew)

    async def _read_all(self, rebuild: Rebuild) -> None:
        """Everything, then what came meanwhile, until so little is left that a switch takes a moment."""
        self._progress.total = rebuild.reader.left(await rebuild.ends())
        for _ in range(ROUNDS):
            await rebuild.advance(self._live.pipeline.store.documents)
            left = rebuild.reader.left(await rebuild.ends())
            self._progress.total = self._progress.read + left
            if left <= TAIL:
                return

    def _now(self) -> datetime:
        return self._live.foundation.clock.now()
