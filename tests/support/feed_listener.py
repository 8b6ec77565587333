"""Listener of a feed, as an application writes it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.support.service_world import ADMIN
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS


@dataclass(frozen=True)
class HeardEvent:
    """Event of a stream."""

    name: str
    data: Any
    id: str


class FeedListener:
    """Reads one stream; `last_id` is what to resume with."""

    def __init__(self, lines: AsyncIterator[str], last_id: str) -> None:
        self._lines = lines
        self.last_id = last_id

    async def next(self) -> HeardEvent | None:
        """The next event; None at the end of the stream."""
        name, data = "", ""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            async for line in self._lines:
                field, _, value = line.partition(": ")
                if field == "id":
                    self.last_id = value
                elif field == "event":
                    name = value
                elif field == "data":
                    data = value
                elif not line and data:
                    return HeardEvent(name, json.loads(data), self.last_id)
        return None

    async def until(self, holds: Callable[[HeardEvent], bool]) -> list[HeardEvent]:
        """The events up to the first of which this holds."""
        heard: list[HeardEvent] = []
        while not heard or not holds(heard[-1]):
            event = await self.next()
            assert event is not None, f"the stream ended after {heard}"
            heard.append(event)
        return heard

    async def begin(self) -> None:
        """Wait for the cursor that a stream begins with."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            async for line in self._lines:
                if line.startswith("id: "):
                    self.last_id = line.removeprefix("id: ")
                    return


@asynccontextmanager
async def listening(
    address: str, namespace: str, *, after: str | None = None, key: str = ADMIN
) -> AsyncIterator[FeedListener]:
    """Open a feed, from now on or after an event, until the end of the block."""
    headers = {"authorization": f"Bearer {key}"} | ({} if after is None else {"last-event-id": after})
    async with (
        httpx2.AsyncClient(timeout=None) as http,
        http.stream("GET", f"{address}/ns/{namespace}/explain/feed", headers=headers) as response,
    ):
        if response.status_code != 200:
            raise AssertionError(f"{response.status_code}: {(await response.aread()).decode()}")
        listener = FeedListener(response.aiter_lines(), after or "")
        await listener.begin()
        yield listener
