"""The pipeline that serves now, and how another one takes its place while requests go on."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.changes import Together
from pipeline.errors import OutageError
from pipeline.foundation import Foundation, open_foundation, recipe_of
from pipeline.settings import Settings
from pipeline.turns import behind
from pipeline.worker import Pipeline, open_pipeline

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often a process looks whether others serve other tables by now."""
GRACE_SECONDS = 3.0
"""So long after it went over, a process shows what it accepts on the old tables too: others may still serve
them."""
Swap = Callable[[], None]
Prepare = Callable[[Pipeline], Awaitable[Swap]]
"""Makes what requests need of a pipeline; calling what it returns puts that in place, in one step."""


class Takeover(Protocol):
    """A pipeline that is to take the place of the one that serves."""

    async def ready(self) -> Pipeline:
        """The pipeline, which has read the log to its end. Nobody works on the log when this is called."""
        ...

    async def commit(self) -> None:
        """From now on it is the one that is opened; in effect, and on disk, on return."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    takeover: Takeover
    done: asyncio.Future[Pipeline]


@dataclass(eq=False)
class Live:
    """One process's pipeline: `run` works, `switch` hands over to another, requests see one or the other."""

    foundation: Foundation
    pipeline: Pipeline
    working: bool = True
    """Whether this process works on the log; one that only answers leaves that to others."""
    answering: bool = True
    """Whether requests are answered from the tables, so that they show what was acknowledged anywhere."""
    _turns: asyncio.Queue[_Turn] = field(default_factory=asyncio.Queue)
    _prepare: list[Prepare] = field(default_factory=list)
    _following: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self._show(self.pipeline)

    def serve(self, prepare: Prepare) -> None:
        """Let requests be told when another pipeline takes over."""
        self._prepare.append(prepare)

    async def switch(self, takeover: Takeover) -> Pipeline:
        """Hand over; the pipeline that was left. What fails before the commit leaves this one in place."""
        turn = _Turn(takeover, asyncio.get_running_loop().create_future())
        await self._turns.put(turn)
        try:
            return await asyncio.shield(turn.done)
        except asyncio.CancelledError:
            # A hand-over that has begun is not given up half-way.
            await asyncio.wait([turn.done])
            raise

    async def current(self) -> None:
        """Return when this process serves the tables that others may serve by now; or OutageError."""
        while (await self.foundation.generations.served()).current.number != self.pipeline.generation.number:
            if self._following is None:
                self._following = asyncio.create_task(self._follow())
                self._following.add_done_callback(self._followed)
            # Whoever gives up waiting leaves the others to wait.
            following = self._following
            await asyncio.wait([following])
            if following.cancelled():
                raise OutageError("This process is ending.")
            if (error := following.exception()) is not None:
                raise OutageError(
                    f"Other tables are served by now, and this process can't go over to them: {error}"
                ) from error

    async def run(self) -> None:
        """Until cancelled; an unforeseen error of any part ends it with that error."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(behind(self.pipeline.store.run))
                if self.foundation.shared:
                    tasks.create_task(self._watch())
                while True:
                    turn = await self._work(tasks)
                    before = self.pipeline
                    await self._hand_over(turn)
                    if self.pipeline is not before:
                        tasks.create_task(behind(self.pipeline.store.run))
                        if self.foundation.shared:
                            tasks.create_task(self._retire(before, self.pipeline))
        finally:
            while not self._turns.empty():
                self._turns.get_nowait().done.cancel()

    async def drain(self, seconds: float) -> None:
        """Let what is being handled end and be committed, as long as it does within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self.foundation.bus.drain()
        except TimeoutError:
            log.warning("A batch takes longer than %.0f s: it is handled again at the next start.", seconds)

    async def _watch(self) -> None:
        progress = self.foundation.metrics.progress
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.current()
            except OutageError as error:
                if progress.outdated != str(error):
                    log.warning("%s", error)
                progress.outdated = str(error)
            else:
                progress.outdated = None

    async def _follow(self) -> None:
        takeover = _Following(self)
        try:
            await self.switch(takeover)
        except BaseException:
            await takeover.give_up()
            raise

    def _followed(self, _: asyncio.Task[None]) -> None:
        self._following = None

    def _show(self, pipeline: Pipeline) -> None:
        """Let what a request publishes be seen by whoever may answer the next one.

        It is in the log when this is called. If others serve other tables by then, this process goes over to
        them, which shows all that is in the log, before the request is answered. If not, whoever goes over
        to others later will find it in the log.
        """
        shared = self.foundation.shared and self.answering
        pipeline.publisher.show(self.current if shared else None)

    async def _retire(self, before: Pipeline, successor: Pipeline) -> None:
        """Close what was left, when no process serves its tables any more."""
        try:
            await asyncio.sleep(GRACE_SECONDS)
        finally:
            if self.pipeline is successor:
                self._show(successor)
            await before.close()

    async def _work(self, tasks: asyncio.TaskGroup) -> _Turn:
        """Work until somebody wants to take over; nobody works on the log when this returns."""
        working = tasks.create_task(behind(self.pipeline.work) if self.working else _nothing())
        try:
            return await self._turns.get()
        finally:
            working.cancel()
            await asyncio.wait([working])

    async def _hand_over(self, turn: _Turn) -> None:
        before = self.pipeline
        try:
            successor = await self._take_over(turn.takeover)
        except Exception as error:  # of whatever kind: whoever asked is told, and the old one goes on
            log.exception("Another generation could not take over; this one goes on.")
            self._show(before)
            if not turn.done.done():
                turn.done.set_exception(error)
            return
        except BaseException:
            turn.done.cancel()
            raise
        if successor is before:
            turn.done.set_result(before)
            return
        self.pipeline = successor
        # Requests under way end on the old tables; what they publish is shown by the new ones too.
        if self.foundation.shared and self.answering:
            successor.publisher.show(self._seeing_both(before))
        elif not self.foundation.shared:
            await before.close()
        if not turn.done.done():
            turn.done.set_result(before)

    def _seeing_both(self, before: Pipeline) -> Callable[[], Awaitable[None]]:
        foresee = Together(before.foresee)

        async def see() -> None:
            await asyncio.gather(self.current(), foresee())

        return see

    async def _take_over(self, takeover: Takeover) -> Pipeline:
        successor = await takeover.ready()
        if successor is self.pipeline:
            return successor
        see = Together(successor.foresee)
        if self.answering:
            self.pipeline.publisher.show(see)
            await see()
        swaps = [await prepare(successor) for prepare in self._prepare]
        await takeover.commit()
        if self.answering and self.foundation.shared:
            # What others published before they could see that the pointer has moved.
            await see()
        for swap in swaps:
            swap()
        return successor


@dataclass(slots=True, eq=False)
class _Following:
    """As `Takeover`: another process has switched, and this one goes along."""

    live: Live
    opened: Pipeline | None = None

    async def ready(self) -> Pipeline:
        foundation = self.live.foundation
        served = await foundation.generations.served()
        if served.current.number == self.live.pipeline.generation.number:
            return self.live.pipeline
        self.opened = await open_pipeline(foundation, served.current)
        log.info("Generation %d is served from now on.", served.current.number)
        return self.opened

    async def commit(self) -> None:
        """The other process did."""

    async def give_up(self) -> None:
        """Close what was opened."""
        if self.opened is not None and self.opened is not self.live.pipeline:
            await self.opened.close()


@asynccontextmanager
async def open_live(settings: Settings, *, working: bool = True, serving: bool = True) -> AsyncIterator[Live]:
    """Everything opened, nothing running yet; closed in reverse order, the log last.

    Not `serving`: nobody will ask these tables, so they need not show what the log has for them.
    DataDirectoryLockedError, StoreMismatchError and ValueError carry messages for the operator.
    """
    async with open_foundation(settings) as foundation:
        if not foundation.shared:
            # Where others use the tables, one of them may be making a generation.
            await _sweep(foundation)
        served = await foundation.generations.served()
        recipe, asked = foundation.recipe(served.current), recipe_of(settings)
        if recipe.model_copy(update={"embedder_base_url": asked.embedder_base_url}) != asked:
            log.warning(
                "The tables were made with %s, the settings ask for %s: `recollect replay` makes new ones.",
                recipe, asked,
            )  # fmt: skip
        live = Live(foundation, await open_pipeline(foundation, served.current), working, serving)
        try:
            if serving:
                await live.pipeline.catch_up()
            yield live
        finally:
            await live.pipeline.close()


async def _sweep(foundation: Foundation) -> None:
    """A replay that ended half-way starts over: its tables say nothing that the log does not."""
    for number in await foundation.generations.sweep():
        log.info("Removed generation g%d, which no replay has finished.", number)


async def _nothing() -> None:
    """No work until cancelled."""
    await asyncio.get_running_loop().create_future()
