"""Filling of a new generation's tables by any number of processes, a division at a time."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from app.generation_pipeline import Pipeline
from app.pipeline_factory import open_pipeline
from app.pipeline_supervisor import PipelineSupervisor
from app.replay.division import Division, DivisionReport, ReplayWork
from app.replay.generation_copy import GenerationCopy
from app.replay.generation_rebuild import GenerationRebuild, ReportProgress
from pipeline.errors import OutageError
from pipeline.ports import Lease, Locks
from pipeline.store import Store
from pipeline.store.generations.generation_registry import REPLAY_DIVISION
from pipeline.store.generations.replay_request import ReplayError

log = logging.getLogger(__name__)

REPORT_INTERVAL_SECONDS = 1.0


class DividedFill:
    """Fills free divisions of a replay until every one is filled, here or by another process.

    A division is filled under a lock. A process that gets the lock of a division that is not filled removes what a dead
    process left in its shards and begins it anew.
    """

    def __init__(self, supervisor: PipelineSupervisor, work: ReplayWork) -> None:
        self._supervisor = supervisor
        self._work = work
        self._worker = f"{socket.gethostname()}/{os.getpid()}"

    async def run(self) -> None:
        """Return when every division is filled; an error in a division of this process propagates."""
        remaining = {self._lock_name(number): number for number in range(self._work.divisions)}
        while remaining:
            async with _acquire_first(self._supervisor.resources.locks, remaining) as (name, lease):
                division = Division(remaining.pop(name), self._work.divisions)
                report = await self._read_report(division.number)
                if report is None or not report.is_filled:
                    await self._fill(division, lease)

    async def reports(self) -> list[DivisionReport]:
        found = [await self._read_report(number) for number in range(self._work.divisions)]
        return [report for report in found if report is not None]

    async def wait_until_released(self, timeout_seconds: float) -> None:
        """Wait until no process fills a division; ReplayError if one goes on."""
        for number in range(self._work.divisions):
            try:
                async with (
                    asyncio.timeout(timeout_seconds),
                    self._supervisor.resources.locks.acquire(self._lock_name(number)),
                ):
                    pass
            except TimeoutError as error:
                raise ReplayError(
                    f"A process does not stop to fill division {number} of {self._work.divisions}."
                ) from error

    def _lock_name(self, number: int) -> str:
        return f"replay/{self._work.generation.number}/{number}"

    async def _fill(self, division: Division, lease: Lease) -> None:
        report = DivisionReport(replay_id=self._work.replay_id, worker=self._worker)

        def advance(_: str, offsets: int) -> None:
            lease.ensure_valid()
            report.read += offsets

        async with self._reporting(division.number, report):
            pipeline = await self._open(division)
            await _erase_rows(pipeline.store, division)
            await self._rebuild(pipeline, division, advance).advance(
                self._supervisor.pipeline.store.documents, division.select(self._work.ends)
            )
            lease.ensure_valid()
            # Only now: closing writes what is pending, and after an error others may be filling these shards.
            await pipeline.close()
        report.is_filled = True
        await self._write_report(division.number, report)

    async def _open(self, division: Division) -> Pipeline:
        resources = self._supervisor.resources
        if not resources.is_multi_process:
            raise ValueError("Only tables that processes share are filled in divisions.")
        catalog = resources.catalog.restricted_to(division.holds)
        return await open_pipeline(replace(resources, catalog=catalog), self._work.generation, bulk_load=True)

    def _rebuild(self, pipeline: Pipeline, division: Division, advance: ReportProgress) -> GenerationRebuild:
        copy = GenerationCopy.of_request(self._work.request, self._supervisor.pipeline.store, pipeline.embedder)
        return GenerationRebuild(
            pipeline,
            division.select(self._work.starts),
            # Copied memories have source documents that this rebuild does not read.
            fresh=copy is None or not copy.include_memories,
            report_progress=advance,
            copy=copy,
            owns=division.holds,
            undivided=self._work.undivided,
        )

    @asynccontextmanager
    async def _reporting(self, number: int, report: DivisionReport) -> AsyncIterator[None]:
        reporting = asyncio.create_task(self._report_periodically(number, report))
        try:
            yield
        finally:
            reporting.cancel()
            await asyncio.wait([reporting])

    async def _report_periodically(self, number: int, report: DivisionReport) -> None:
        while True:
            try:
                await self._write_report(number, report)
            except OutageError as error:
                log.info("Can't report the progress of division %d: %s", number, error)
            await asyncio.sleep(REPORT_INTERVAL_SECONDS)

    async def _write_report(self, number: int, report: DivisionReport) -> None:
        notes = self._supervisor.resources.generations
        await notes.write_note(f"{REPLAY_DIVISION}{number}", report.model_dump_json().encode())

    async def _read_report(self, number: int) -> DivisionReport | None:
        value = await self._supervisor.resources.generations.read_note(f"{REPLAY_DIVISION}{number}")
        report = None if value is None else DivisionReport.model_validate_json(value)
        return report if report is not None and report.replay_id == self._work.replay_id else None


async def _erase_rows(store: Store, division: Division) -> None:
    """Remove rows of a process that died while it filled the division."""
    found = await store.incarnations()
    await store.delete_incarnations({incarnation for incarnation in found if division.holds(incarnation)})


@asynccontextmanager
async def _acquire_first(locks: Locks, names: Iterable[str]) -> AsyncIterator[tuple[str, Lease]]:
    async with AsyncExitStack() as held:
        stacks = {name: AsyncExitStack() for name in names}
        waiting = {
            asyncio.create_task(stack.enter_async_context(locks.acquire(name))): name for name, stack in stacks.items()
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # A waiter that was cancelled holds nothing; one that has its lock releases it with its stack.
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
            for stack in stacks.values():
                held.push_async_callback(stack.aclose)
        acquired = [task for task in waiting if not task.cancelled() and task.exception() is None]
        if not acquired:
            await next(iter(waiting))  # raises what kept it from the lock
        chosen = waiting[acquired[0]]
        for task in acquired[1:]:
            await stacks[waiting[task]].aclose()
        yield chosen, acquired[0].result()
