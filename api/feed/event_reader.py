"""Reader of a feed's events: waits for the stages of a record and reads what it changed, and writes positions down."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from api.feed import feed_sources
from api.feed.feed_cursor import MAX_CURSOR_CHARACTERS, CursorCipher, FeedPosition, Place, decode_cursor, encode_cursor
from api.feed.feed_events import FeedEvent, FeedTables, to_feed_event
from api.feed.rows_ahead import read_rows_ahead
from api.feed.stage_progress import StageProgress
from pipeline.bus.port import Bus
from pipeline.errors import RetryableError
from pipeline.runtime.backoff import exponential_backoff
from pipeline.stage import Record

T = TypeVar("T")
RETRY_SECONDS = 0.5
OUTAGES = (RetryableError, OSError)
"""Failures of the log and of the tables that pass."""
MAX_RETRY_SECONDS = 8.0
MAX_ATTEMPTS = 5
"""Attempts at a record whose rows cannot be read; then it is left out, so that it holds up no others."""
log = logging.getLogger(__name__)


@dataclass(eq=False)
class EventReader:
    """`tables`: the active ones. `position`: up to where a process has sent events to its listeners."""

    bus: Bus
    tables: Callable[[], FeedTables]
    cipher: CursorCipher
    position: dict[Place, int] = field(default_factory=dict)
    progress: StageProgress = field(init=False)

    def __post_init__(self) -> None:
        self.progress = StageProgress(self.bus, lambda: self.tables().generation)

    def encode(self, position: FeedPosition) -> str:
        return self.to_cursor(self.to_plain_text(position))

    def to_cursor(self, plain_text: str) -> str:
        """Encrypt a position that was written for this process."""
        return self.cipher.encrypt(plain_text)

    def to_plain_text(self, position: FeedPosition) -> str:
        """Write a position for this process only."""
        return encode_cursor(position, feed_sources.SOURCE_NAMES, self.bus.partitions)

    def decode(self, cursor: str) -> FeedPosition:
        """Read a cursor; ValueError if it is not of this log."""
        if len(cursor) > MAX_CURSOR_CHARACTERS:
            raise ValueError("it is too long")
        return decode_cursor(self.cipher.decrypt(cursor), feed_sources.SOURCE_NAMES, self.bus.partitions)

    async def wait_until_handled(self, source: feed_sources.FeedSource, record: Record[Any]) -> None:
        """Wait until the stages of the source have handled the record; outages are waited out."""
        await self.retried(partial(self.progress.wait_until_handled, source, record))

    async def read_ahead(self, records: Sequence[tuple[feed_sources.FeedSource, Record[Any]]]) -> FeedTables | None:
        """Return tables with the rows of handled records; None if some cannot be read, as `build_event` then says."""
        try:
            return await self.retried(lambda: read_rows_ahead(records, self.tables()))
        except (RuntimeError, ValueError):
            return None

    async def build_event(
        self, source: feed_sources.FeedSource, record: Record[Any], ahead: FeedTables | None = None
    ) -> FeedEvent | None:
        """Return what a handled record changed; None, after some attempts, if its rows cannot be read.

        `ahead`: what `read_ahead` returned for it a moment ago.
        """
        for attempt in range(1, MAX_ATTEMPTS + 1):
            tables = ahead if ahead is not None and attempt == 1 else self.tables()
            try:
                return await self.retried(partial(to_feed_event, source, record, tables))
            except (RuntimeError, ValueError) as error:
                place = f"{record.topic}/{record.partition}/{record.log_offset}"
                if attempt == MAX_ATTEMPTS:
                    log.exception("A feed leaves out %s: what it changed cannot be read.", place)
                else:
                    log.warning("A feed could not read what %s changed: %r", place, error)
                    await asyncio.sleep(exponential_backoff(RETRY_SECONDS, attempt, MAX_RETRY_SECONDS))
        return None

    async def retried(self, work: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await work()
            except OUTAGES as error:
                log.warning("The feed waits for the log and the tables: %r", error)
                await asyncio.sleep(RETRY_SECONDS)
