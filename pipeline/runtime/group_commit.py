"""Group commit: jobs that wait at the same time share a transaction, which a thread of their own writes."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Transaction = TypeVar("Transaction")
MAX_JOBS = 512
"""Maximum number of jobs in one transaction."""


class GroupCommit(Generic[Transaction]):
    """Commits jobs in the order of their calls, all from one event loop.

    `commit` runs jobs in one transaction, in the thread, and returns their results; it raises if nothing was written.
    Then each job is committed by itself, as one may have failed the others. `after_commit` runs in the thread once the
    results are handed over, `announce` in the event loop before the jobs' futures resolve.
    """

    def __init__(
        self,
        thread_name: str,
        commit: Callable[[Sequence[Callable[[Transaction], Any]]], Sequence[Any]],
        after_commit: Callable[[], None] = lambda: None,
        announce: Callable[[], None] = lambda: None,
    ) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=thread_name)
        self._commit = commit
        self._after_commit = after_commit
        self._announce = announce
        self._waiting: deque[tuple[Callable[[Transaction], Any], asyncio.Future[Any]]] = deque()
        self._is_writing = False

    @property
    def is_idle(self) -> bool:
        """True if no job waits for the next transaction."""
        return not self._waiting

    def submit(self, job: Callable[[Transaction], T]) -> "asyncio.Future[T]":
        """Queue a job; its future resolves with the result once it is on disk."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._waiting.append((job, done))
        self._write_waiting(loop)
        return done

    def run(self, action: Callable[[], T]) -> "asyncio.Future[T]":
        """Queue an action to run in the thread, between two transactions."""
        return asyncio.get_running_loop().run_in_executor(self._thread, action)

    async def close(self) -> None:
        """Commit everything that was submitted, and end the thread."""
        last = self.submit(lambda _: None)
        await asyncio.wait([last])
        last.exception()  # those before it have told theirs to whoever waits
        await asyncio.to_thread(self._thread.shutdown)

    def _write_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._waiting and not self._is_writing:
            self._is_writing = True
            self._thread.submit(self._write, loop)

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        # Taken now: more may have come while the thread was busy.
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_JOBS))]
        outcomes = self._outcomes([job for job, _ in batch])
        loop.call_soon_threadsafe(self._resolve, loop, [done for _, done in batch], outcomes)
        self._after_commit()

    def _outcomes(self, jobs: Sequence[Callable[[Transaction], Any]]) -> list[tuple[Any, Exception | None]]:
        """Commit jobs; return the result of each, or the error that kept it from being written."""
        try:
            return [(result, None) for result in self._commit(jobs)]
        except Exception as error:  # noqa: BLE001 - it is reported to whoever waits for the job
            if len(jobs) == 1:
                return [(None, error)]
        return [outcome for job in jobs for outcome in self._outcomes([job])]

    def _resolve(
        self,
        loop: asyncio.AbstractEventLoop,
        waiting: Sequence["asyncio.Future[Any]"],
        outcomes: Sequence[tuple[Any, Exception | None]],
    ) -> None:
        self._is_writing = False
        self._write_waiting(loop)
        self._announce()
        for done, (result, error) in zip(waiting, outcomes, strict=True):
            if not done.done():
                if error is None:
                    done.set_result(result)
                else:
                    done.set_exception(error)
