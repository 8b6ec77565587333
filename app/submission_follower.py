"""Follower of submissions: shows every submission in the log to this process's readers, in log order."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial

from pipeline.bus.port import Bus
from pipeline.bus.topic_follower import TopicFollower
from pipeline.errors import FollowerClosedError, OutageError, RetryableError
from pipeline.ports import Position, Tombstones
from pipeline.projection import apply_submission
from pipeline.rows import DocumentRow
from pipeline.runtime.read_barrier import LOG_ANSWER_SECONDS, ReadBarrier
from pipeline.stage import Record, Stage
from pipeline.store import LoggedChange, SharedTable
from schemas.events import DocumentSubmitted
from schemas.topics import DOCUMENTS_SUBMITTED

APPLY_TIMEOUT_SECONDS = 5.0
"""Maximum wait for a published submission to be shown; it is acknowledged in any case."""
HANDLED_TIMEOUT_SECONDS = 5.0
"""Maximum wait for the stage `extract` to handle a submission."""
CLEANUP_INTERVAL_SECONDS = 1.0
RETRY_SECONDS = 0.5
SHOW_ERRORS = (RetryableError, OSError, RuntimeError, ValueError)
"""Failures of the log and of the tables."""
log = logging.getLogger(__name__)

ShowSubmissions = Callable[[Sequence[Record[DocumentSubmitted]]], Awaitable[None]]
"""Shows submissions of one partition, in order, to the readers of documents."""
DropHandled = Callable[[Mapping[int, int]], Awaitable[None]]
"""Gets the first offset of each partition that `extract` has not handled; what is before it is in the tables."""


class SubmissionFollower:
    """`pipeline.ports.Submissions` of one generation: reads the log from where the stage `extract` is.

    `drop_handled` None: `show` writes to the tables themselves.
    """

    def __init__(
        self,
        bus: Bus,
        extract: Stage[DocumentSubmitted],
        show: ShowSubmissions,
        drop_handled: DropHandled | None = None,
    ) -> None:
        self._bus = bus
        self._extract = extract
        self._show = show
        self._drop_handled = drop_handled
        self._follower: TopicFollower[DocumentSubmitted] | None = None
        self._cleanup: asyncio.Task[None] | None = None
        self._exit_stack = AsyncExitStack()
        self._start_lock = asyncio.Lock()
        self._barrier = ReadBarrier(self._catch_up_for_reads, "Documents")
        self._early_answers = 0
        """Submissions that were acknowledged before they were shown."""
        self._early_answers_shown = 0

    @property
    def writes_tables(self) -> bool:
        return self._drop_handled is None

    async def start(self) -> None:
        """Begin to follow; does nothing if it has begun."""
        async with self._start_lock:
            if self._follower is not None:
                return
            topic = DOCUMENTS_SUBMITTED
            start = await self._bus.positions(self._extract.group, topic.name)
            self._follower = await self._exit_stack.enter_async_context(self._bus.follow(topic, self._apply, start))
            if self._drop_handled is not None:
                self._cleanup = asyncio.create_task(self._drop_periodically(self._drop_handled))

    async def catch_up(self, answer_seconds: float | None = None) -> None:
        """Show every submission published before this call. OutageError if the log does not answer."""
        await self.start()
        assert self._follower is not None  # noqa: S101 - `start` sets it
        await self._follower.catch_up(answer_seconds)

    async def refresh_if_available(self) -> bool:
        """Catch up before a read; return False while the log or the tables are away, which keeps what was shown.

        The only process has shown what it acknowledged, unless that took too long. OutageError.
        """
        if self.writes_tables and self._early_answers == self._early_answers_shown:
            return True
        return await self._barrier.refresh_if_available()

    async def _catch_up_for_reads(self) -> None:
        early_answers = self._early_answers
        await self.catch_up(LOG_ANSWER_SECONDS)
        self._early_answers_shown = early_answers

    async def wait_until_shown(self, positions: Sequence[Position]) -> bool:
        """Wait, for a bounded time, until these submissions are shown; False if they are not yet.

        False also for a request that began before a switch to another generation and outlasted its tables.
        """
        await self.start()
        assert self._follower is not None  # noqa: S101 - `start` sets it
        try:
            async with asyncio.timeout(APPLY_TIMEOUT_SECONDS):
                await self._follower.wait_for(_next_offsets(positions))
        except FollowerClosedError:
            return False
        except TimeoutError:
            log.warning("Submissions are in the log, but could not be shown within %.0f s.", APPLY_TIMEOUT_SECONDS)
            self._early_answers += 1
            return False
        return True

    async def wait_until_handled(self, positions: Sequence[Position]) -> bool:
        try:
            async with asyncio.timeout(HANDLED_TIMEOUT_SECONDS):
                for partition, end in _next_offsets(positions).items():
                    await self._bus.wait_until_consumed(
                        self._extract.group, DOCUMENTS_SUBMITTED.name, partition, end - 1
                    )
        except (TimeoutError, OutageError) as error:
            log.info("The pipeline has not handled submissions yet: %r", error)
            return False
        return True

    async def close(self) -> None:
        if self._cleanup is not None:
            self._cleanup.cancel()
            await asyncio.wait([self._cleanup])
        await self._exit_stack.aclose()

    async def _apply(self, batch: Sequence[Record[DocumentSubmitted]]) -> None:
        """Show a batch; a failure is retried, because a later batch must not be shown before it."""
        while True:
            try:
                await self._show(batch)
            except SHOW_ERRORS as error:
                log.warning("Submissions could not be shown and will be retried: %r", error)
                self._barrier.suspend()
                await asyncio.sleep(RETRY_SECONDS)
            else:
                break
        self._barrier.resume()

    async def _drop_periodically(self, drop_handled: DropHandled) -> None:
        failing = False
        while True:
            await asyncio.sleep(CLEANUP_INTERVAL_SECONDS)
            try:
                await drop_handled(await self._bus.positions(self._extract.group, DOCUMENTS_SUBMITTED.name))
                failing = False
            except SHOW_ERRORS as error:
                if not failing:
                    log.info("Handled submissions stay in memory for now: %r", error)
                failing = True


def _next_offsets(positions: Sequence[Position]) -> dict[int, int]:
    ends: dict[int, int] = {}
    for position in positions:
        ends[position.partition] = max(ends.get(position.partition, 0), position.offset + 1)
    return ends


def show_over(documents: SharedTable[DocumentRow], tombstones: Tombstones) -> ShowSubmissions:
    """Return the function that shows submissions over the rows of a table that others write."""

    async def show(batch: Sequence[Record[DocumentSubmitted]]) -> None:
        changes: dict[str, list[LoggedChange[DocumentRow]]] = {}
        for record in batch:
            if record.redriven:
                continue  # its original was shown at its own offset
            event = record.event
            apply = partial(apply_submission, event=event, seq=record.offset)
            change = LoggedChange(event.incarnation, record.partition, record.offset, apply)
            changes.setdefault(event.document, []).append(change)
        if changes:
            await documents.show_logged_changes(changes, tombstones.latest_deletions)

    return show
