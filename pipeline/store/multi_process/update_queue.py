"""Updates of a shard that wait to be committed, and which of them the next commit takes."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from pipeline.ports import Row

RowChange = Callable[[str, list[Row]], Sequence[Row] | None]
Preparation = Callable[[], Awaitable[None]]
"""Awaited under the lock of a shard, before the changes of an update."""

_SOON_SECONDS = 5.0
"""Longest time that a change waits for one of the same keys to be committed with."""


@dataclass(eq=False, slots=True)
class UpdateRequest(Generic[Row]):
    """A change of some keys. `is_awaited`: somebody waits for `done`; else it waits for a commit of the same keys."""

    entity_keys: Sequence[str]
    change: RowChange[Row]
    prepare: Preparation | None
    is_awaited: bool
    done: asyncio.Future[dict[str, list[Row]]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    after: dict[str, list[Row]] = field(default_factory=dict)

    def succeed(self) -> None:
        if not self.done.done():
            self.done.set_result(self.after)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class UpdateQueue(Generic[Row]):
    """Requests in their order. `on_deadline` is called when one that nobody awaits has waited long enough."""

    def __init__(self, on_deadline: Callable[[], None]) -> None:
        self._on_deadline = on_deadline
        self._requests: list[UpdateRequest[Row]] = []
        self._deadline: asyncio.TimerHandle | None = None
        self._is_all_due = False
        """True if requests that nobody awaits wait no longer."""

    @property
    def is_due(self) -> bool:
        """True if somebody waits, or the time of the requests that nobody awaits is over."""
        return bool(self._requests) and (self._is_all_due or any(request.is_awaited for request in self._requests))

    def add(self, request: UpdateRequest[Row]) -> None:
        self._requests.append(request)
        if not request.is_awaited and self._deadline is None:
            self._deadline = asyncio.get_running_loop().call_later(_SOON_SECONDS, self._on_deadline)

    def make_all_due(self) -> None:
        self._cancel_deadline()
        self._is_all_due = bool(self._requests)

    def take_due(self) -> list[UpdateRequest[Row]]:
        """Take the requests that somebody waits for, and those before them that change the same keys.

        The others wait on: what follows them will replace the rows that they change, and with them no commit only adds.
        """
        due: deque[UpdateRequest[Row]] = deque()
        others: deque[UpdateRequest[Row]] = deque()
        keys: set[str] = set()
        for request in reversed(self._requests):
            if self._is_all_due or request.is_awaited or not keys.isdisjoint(request.entity_keys):
                due.appendleft(request)
                keys.update(request.entity_keys)
            else:
                others.appendleft(request)
        self._requests = list(others)
        self._is_all_due = False
        if not others:
            self._cancel_deadline()
        return list(due)

    def fail_all(self, error: BaseException) -> None:
        for request in self._requests:
            request.fail(error)
        self._requests.clear()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
