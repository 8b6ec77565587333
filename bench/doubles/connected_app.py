"""The whole service with connectors in one process: only providers' APIs are doubles."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal

import httpx2
from fastapi import FastAPI

from api.application import create_app
from api.dependencies.app_state import CurrentAppState
from app.connector_composition import ConnectorRuntime
from app.container import ProviderOverrides, open_container
from app.pipeline_supervisor import PipelineSupervisor
from connectors.provider_interface import Provider
from pipeline.settings import Settings

PUBLIC_URL = "https://memory.test"


@dataclass(frozen=True, slots=True)
class ConnectedApp:
    """A running application, its pipeline and its connectors."""

    app: FastAPI
    supervisor: PipelineSupervisor
    connectors: ConnectorRuntime


@asynccontextmanager
async def run_connected_app(
    settings: Settings,
    admin_key: str,
    providers: Mapping[str, Provider],
    transport: httpx2.AsyncBaseTransport | None = None,
    *,
    running: bool | Literal["engine"] = True,
) -> AsyncIterator[ConnectedApp]:
    """Run the application with these providers; `transport` stands in for the network.

    `running=False`: requests are answered, but neither stages nor connectors run. `running="engine"`:
    connectors run, and the documents that they submit stay unprocessed.
    """
    async with open_container(
        settings,
        admin_key=admin_key,
        public_url=PUBLIC_URL,
        overrides=ProviderOverrides(providers, transport),
    ) as container:
        supervisor, connectors = container.supervisor, container.connectors
        if connectors is None:
            raise ValueError("The container opens connectors only with a public URL.")

        @asynccontextmanager
        async def open_state() -> AsyncIterator[CurrentAppState]:
            yield container.serving

        app = create_app(open_state, connectors.routes)
        async with app.router.lifespan_context(app), _running(supervisor, connectors, running=running):
            yield ConnectedApp(app, supervisor, connectors)


@asynccontextmanager
async def _running(
    supervisor: PipelineSupervisor, connectors: ConnectorRuntime, *, running: bool | Literal["engine"]
) -> AsyncIterator[None]:
    """Run pipeline and connectors in the background; an error in either propagates on exit."""
    pipeline = supervisor.pipeline.store.run if running == "engine" else supervisor.run
    tasks = [asyncio.create_task(part) for part in ((pipeline(), connectors.run()) if running else ())]
    try:
        yield
    finally:
        for task in reversed(tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
