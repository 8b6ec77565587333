"""The whole service with connectors in one process: providers stand before doubles, all else is real."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
from fastapi import FastAPI

from api.app import create_app
from api.guards import open_guards
from api.state import Serving
from composition import allowance_of, serving_of
from connectors.ports import Provider
from connectors.service import Connectors, open_connectors
from pipeline.live import Live, open_live
from pipeline.replay.job import Replays
from schemas.events import SyncReported
from tests.contract import Client
from tests.service.world import ADMIN, settings, until

ADDRESS = "https://memory.test"


class Sent(Protocol):
    """What a provider sends."""

    @property
    def path(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def body(self) -> bytes: ...


@dataclass(frozen=True)
class Connected:
    """A service that runs, and what a test may look into."""

    client: Client
    app: FastAPI
    live: Live
    connectors: Connectors

    async def create(self, namespace: str, provider: str, **fields: Any) -> str:
        """The id of a connector; one that needs authorization has it afterwards."""
        made = await self.client.ok("POST", f"/ns/{namespace}/connectors", {"provider": provider, **fields})
        if made["authorization"] is not None:
            await self.authorize(made["authorization"]["url"])
        connector: str = made["id"]
        return connector

    async def authorize(self, url: str, *, code: str = "a-code") -> httpx2.Response:
        """Come back from the provider with a code, as a browser does."""
        state = parse_qs(urlsplit(url).query)["state"][0]
        return await self.browser("/oauth/callback", state=state, code=code)

    async def browser(self, path: str, **query: str) -> httpx2.Response:
        """A GET without a key."""
        transport = httpx2.ASGITransport(self.app)
        async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as http:
            return await http.get(path, params=query)

    async def told(self, sent: Sent) -> httpx2.Response:
        """A delivery of a provider, as it reaches the service."""
        transport = httpx2.ASGITransport(self.app)
        async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as http:
            return await http.post(sent.path, headers=sent.headers, content=sent.body)

    async def get(self, namespace: str, connector: str, include: str = "syncs") -> Any:
        return await self.client.ok("GET", f"/ns/{namespace}/connectors/{connector}?include={include}")

    async def ended(self, connector: str, runs: int = 1) -> SyncReported:
        """The newest run, once so many have ended and none is under way."""

        async def look() -> list[SyncReported]:
            row = await self.connectors.offers.connections.runs(connector)
            done = [run for run in row.runs if run.status != "running"]
            return done if len(done) >= runs and row.running is None else []

        return (await until(look, f"{runs} runs of {connector}"))[0]

    async def sync(self, namespace: str, connector: str) -> SyncReported:
        """Synchronise now; the run when it has ended."""
        runs = await self.connectors.offers.connections.runs(connector)
        await self.client.ok("POST", f"/ns/{namespace}/connectors/{connector}/sync")
        known = {run.run for run in runs.runs}

        async def look() -> list[SyncReported]:
            row = await self.connectors.offers.connections.runs(connector)
            return [run for run in row.runs if run.run not in known and run.status != "running"]

        return (await until(look, f"a run of {connector}"))[0]

    async def settled(self) -> None:
        """Until every document that was sent is worked on."""

        async def rest() -> bool:
            lag = await self.live.pipeline.bus.lag()
            return not any(behind for streams in lag.values() for behind in streams.values())

        await until(rest, "rest")

    async def documents(self, namespace: str) -> dict[str, Any]:
        """Every document of a namespace by title, when all is settled."""
        await self.settled()
        found: dict[str, Any] = {}
        number, pages = 1, 1
        while number <= pages:
            answer = await self.client.ok(
                "POST", f"/ns/{namespace}/list/documents?limit=100&page={number}", {}
            )
            found |= {one["title"]: one for one in answer["documents"]}
            pages, number = answer["pagination"]["totalPages"], number + 1
        return found


@asynccontextmanager
async def connected(
    folder: Path,
    providers: Mapping[str, Provider],
    transport: httpx2.AsyncBaseTransport | None = None,
    *,
    running: bool | Literal["engine"] = True,
    **fields: Any,
) -> AsyncIterator[Connected]:
    """The service on this folder; not `running`: it answers, but nobody works on what it accepts.

    `engine`: connectors run, and nobody works on what they leave in the log.
    """
    async with (
        open_live(settings(folder, **fields)) as live,
        open_guards(live.foundation.settings, live.foundation.bus, live.foundation.clock) as guards,
        open_connectors(
            live, ADDRESS, allowance_of(live, guards), providers=providers, transport=transport
        ) as connectors,
    ):
        serving = await serving_of(live, Replays(live), ADMIN, connectors.offers, guards)

        @asynccontextmanager
        async def opening() -> AsyncIterator[Serving]:
            yield serving

        app = create_app(opening, connectors.routes)
        async with app.router.lifespan_context(app), _running(live, connectors, running=running):
            yield Connected(Client(httpx2.ASGITransport(app), ADMIN), app, live, connectors)


@asynccontextmanager
async def _running(
    live: Live, connectors: Connectors, *, running: bool | Literal["engine"]
) -> AsyncIterator[None]:
    """Pipeline and engine beside the test; what breaks them fails the test."""
    pipeline = live.pipeline.store.run if running == "engine" else live.run
    parts = (pipeline(), connectors.run()) if running else ()
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        yield
    finally:
        for task in reversed(tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def written(folder: Path) -> bytes:
    """Everything that is on disk below a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
