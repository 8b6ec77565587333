"""The whole service with connectors in one process: providers stand before doubles, all else is real."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
from fastapi import FastAPI

from app.connector_composition import ConnectorRuntime
from app.pipeline_supervisor import PipelineSupervisor
from bench.doubles.connected_app import PUBLIC_URL, run_connected_app
from connectors.provider_interface import Provider
from schemas.events import SyncReported
from tests.support.contract_client import ContractClient
from tests.support.service_world import ADMIN, service_settings, wait_until


class DeliveryRequest(Protocol):
    """Webhook delivery of a provider."""

    @property
    def path(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def body(self) -> bytes: ...


@dataclass(frozen=True)
class ConnectedService:
    """A service that runs, and what a test may look into."""

    client: ContractClient
    app: FastAPI
    live: PipelineSupervisor
    connectors: ConnectorRuntime

    async def create(self, namespace: str, provider: str, **fields: Any) -> str:
        """The id of a connector; one that needs authorization has it afterwards."""
        created = await self.client.ok("POST", f"/ns/{namespace}/connectors", {"provider": provider, **fields})
        if created["authorization"] is not None:
            await self.authorize(created["authorization"]["url"])
        connector: str = created["id"]
        return connector

    async def authorize(self, url: str, *, code: str = "a-code") -> httpx2.Response:
        """Come back from the provider with a code, as a browser does."""
        state = parse_qs(urlsplit(url).query)["state"][0]
        return await self.browser("/oauth/callback", state=state, code=code)

    async def browser(self, path: str, **query: str) -> httpx2.Response:
        """A GET without a key."""
        transport = httpx2.ASGITransport(self.app)
        async with httpx2.AsyncClient(transport=transport, base_url=PUBLIC_URL) as http:
            return await http.get(path, params=query)

    async def deliver(self, sent: DeliveryRequest) -> httpx2.Response:
        """A delivery of a provider, as it reaches the service."""
        transport = httpx2.ASGITransport(self.app)
        async with httpx2.AsyncClient(transport=transport, base_url=PUBLIC_URL) as http:
            return await http.post(sent.path, headers=sent.headers, content=sent.body)

    async def get(self, namespace: str, connector: str, include: str = "syncs") -> Any:
        return await self.client.ok("GET", f"/ns/{namespace}/connectors/{connector}?include={include}")

    async def wait_for_run(self, connector: str, runs: int = 1) -> SyncReported:
        """The newest run, once so many have ended and none is under way."""

        async def look() -> list[SyncReported]:
            row = await self.connectors.account_linking.registry.load_runs(connector)
            done = [run for run in row.runs if run.status != "running"]
            return done if len(done) >= runs and row.active_run is None else []

        return (await wait_until(look, f"{runs} runs of {connector}"))[0]

    async def sync(self, namespace: str, connector: str) -> SyncReported:
        """Synchronise now; the run when it has ended."""
        runs = await self.connectors.account_linking.registry.load_runs(connector)
        await self.client.ok("POST", f"/ns/{namespace}/connectors/{connector}/sync")
        run_ids = {run.run_id for run in runs.runs}

        async def look() -> list[SyncReported]:
            row = await self.connectors.account_linking.registry.load_runs(connector)
            return [run for run in row.runs if run.run_id not in run_ids and run.status != "running"]

        return (await wait_until(look, f"a run of {connector}"))[0]

    async def wait_until_idle(self) -> None:
        """Wait until every submitted document is processed."""

        async def rest() -> bool:
            lag = await self.live.pipeline.bus.lag()
            return not any(behind for streams in lag.values() for behind in streams.values())

        await wait_until(rest, "rest")

    async def documents(self, namespace: str) -> dict[str, Any]:
        """Every document of a namespace by title, when all is settled."""
        await self.wait_until_idle()
        found: dict[str, Any] = {}
        number, pages = 1, 1
        while number <= pages:
            answer = await self.client.ok("POST", f"/ns/{namespace}/list/documents?limit=100&page={number}", {})
            found |= {document["title"]: document for document in answer["documents"]}
            pages, number = answer["pagination"]["totalPages"], number + 1
        return found


@asynccontextmanager
async def run_connected_service(
    folder: Path,
    providers: Mapping[str, Provider],
    transport: httpx2.AsyncBaseTransport | None = None,
    *,
    running: bool | Literal["engine"] = True,
    **fields: Any,
) -> AsyncIterator[ConnectedService]:
    """Run the service on `folder`; `running` and the further settings are those of `run_connected_app`."""
    settings = service_settings(folder, **fields)
    async with run_connected_app(settings, ADMIN, providers, transport, running=running) as connected:
        client = ContractClient(httpx2.ASGITransport(connected.app), ADMIN)
        yield ConnectedService(client, connected.app, connected.supervisor, connected.connectors)


def bytes_on_disk(folder: Path) -> bytes:
    """Return the content of all files below a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
