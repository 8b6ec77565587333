"""Collects submissions from the log while histories run: an erasure removes those of deleted documents."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from bench.history_checker.deployment import Deployment
from bench.history_checker.judge import LoggedSubmission
from pipeline.errors import OutageError
from schemas.ids import first_namespace

INTERVAL_SECONDS = 2.0


class LogCollector:
    """Submissions by namespace, in log order."""

    def __init__(self) -> None:
        self.by_namespace: dict[str, list[LoggedSubmission]] = {}
        self._next_offsets: dict[int, int] = {}

    async def run(self, deployment: Deployment, ended: threading.Event) -> None:
        """Read what is new at intervals, and once more when the event is set."""
        async with deployment.open_log() as read:
            is_last = False
            while not is_last:
                is_last = await asyncio.to_thread(ended.wait, INTERVAL_SECONDS)
                try:
                    async for partition, offset, event in read(self._next_offsets):
                        namespace = first_namespace(event.incarnation)
                        self.by_namespace.setdefault(namespace, []).append(LoggedSubmission(offset, event))
                        self._next_offsets[partition] = offset + 1
                except OutageError:
                    is_last = False


@contextmanager
def collected_submissions(deployment: Deployment) -> Iterator[LogCollector]:
    """Collect in a thread until the end of the block; everything is there after it."""
    collector, ended = LogCollector(), threading.Event()
    with ThreadPoolExecutor(1) as thread:
        collected = thread.submit(asyncio.run, collector.run(deployment, ended))
        try:
            yield collector
        finally:
            ended.set()
        collected.result()
