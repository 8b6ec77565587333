"""The whole service in one process: pipeline, tables and interface, asked as its users ask."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import httpx2
from fastapi import FastAPI
from supermemory import AsyncSupermemory

from api.app import create_app
from api.guards import open_guards
from api.state import Serving
from composition import serving_of
from pipeline.live import Live, open_live
from pipeline.replay.job import Replays
from pipeline.settings import Settings
from pipeline.worker import Pipeline
from tests.contract import Client
from tests.patience import PATIENCE

ADMIN = "rk_the_admin_key_of_the_tests"
T = TypeVar("T")


@dataclass(frozen=True)
class World:
    """A service that runs, and what a test may look into."""

    client: Client
    official: AsyncSupermemory
    live: Live
    app: FastAPI
    replays: Replays

    @property
    def pipeline(self) -> Pipeline:
        """The one that serves now."""
        return self.live.pipeline

    async def settled(self, *, dreaming: bool = True) -> None:
        """Until nothing is left to do; without `dreaming`, memories may still wait for a quiet moment."""

        async def rest() -> bool:
            if any((await self.pipeline.measuring.lag()).values()):
                return False
            return not dreaming or not await self.pipeline.store.documents.unfinished()

        await until(rest, "rest")

    async def add(self, namespace: str, content: str, **fields: Any) -> str:
        """The id of a document that was added."""
        body = {"content": content, "dreaming": "instant", **fields}
        added: str = (await self.client.ok("POST", f"/ns/{namespace}/document", body))["id"]
        return added

    async def patch(self, namespace: str, document: str, **fields: Any) -> Any:
        return await self.client.ok("PATCH", f"/ns/{namespace}/document/{document}", fields)

    async def read(self, namespace: str, document: str) -> Any:
        """The document with its chunks and memories."""
        path = f"/ns/{namespace}/document/{document}?include=chunks,memories"
        return await self.client.ok("GET", path)

    async def delete(self, namespace: str, *documents: str) -> Any:
        return await self.client.ok("DELETE", f"/ns/{namespace}/document", {"ids": list(documents)})

    async def listed(self, namespace: str, kind: str, **body: Any) -> list[Any]:
        """Every item, oldest first; the count of the pagination must agree."""
        path = f"/ns/{namespace}/list/{kind}?limit=100&order=asc"
        answer = await self.client.ok("POST", path, body)
        items: list[Any] = answer[kind]
        assert answer["pagination"]["totalItems"] == len(items), f"{kind} of {namespace}: {answer}"
        return items

    async def search(self, namespace: str, query: str, **body: Any) -> list[Any]:
        """Every result with its document, however unlike the query."""
        asked = {"query": query, "threshold": 0, "limit": 100, "include": {"documents": True}, **body}
        results: list[Any] = (await self.client.ok("POST", f"/ns/{namespace}/search", asked))["results"]
        return results


async def until(good: Callable[[], Awaitable[T]], what: str) -> T:
    """Asked again and again, within a bound, until the answer is true: the one place that polls.

    Ever less often: what it asks for is made by the same loop, which answers each question first.
    """
    pause = 0.005
    try:
        async with asyncio.timeout(PATIENCE):
            while not (answer := await good()):
                await asyncio.sleep(pause)
                pause = min(1.5 * pause, 0.05)
    except TimeoutError:
        raise AssertionError(f"{what} did not happen within {PATIENCE:.0f} s") from None
    return answer


def settings(folder: Path, **fields: Any) -> Settings:
    """Of tests: nothing from the environment, small, and no quiet moment to wait for."""
    values = {"data_dir": folder, "partitions": 2, "shards": 1, "dreaming_quiet_seconds": 0.0, **fields}
    return Settings(_env_file=None, **values)


@asynccontextmanager
async def world(
    folder: Path, *, running: bool = True, working: bool = True, **fields: Any
) -> AsyncIterator[World]:
    """The service on this folder; not `running`: it answers, but nobody works on what it accepts.

    Not `working`: that is for other processes to do.
    """
    chosen = settings(folder, **fields)
    async with (
        open_live(chosen, working=working) as live,
        open_guards(chosen, live.foundation.bus, live.foundation.clock) as guards,
    ):
        replays = Replays(live)
        serving = await serving_of(live, replays, ADMIN, guards=guards)

        @asynccontextmanager
        async def opening() -> AsyncIterator[Serving]:
            yield serving

        app = create_app(opening)
        async with (
            _running(live, running=running),
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http,
        ):
            official = AsyncSupermemory(
                api_key=ADMIN, base_url="http://test", http_client=http, max_retries=0
            )
            try:
                yield World(Client(httpx2.ASGITransport(app), ADMIN), official, live, app, replays)
            finally:
                await replays.stop()


@asynccontextmanager
async def _running(live: Live, *, running: bool) -> AsyncIterator[None]:
    """The pipeline beside the test; what breaks it fails the test."""
    task = asyncio.create_task(live.run() if running else _nothing())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _nothing() -> None:
    return None
