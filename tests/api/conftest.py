"""The interface on a real log and a real store, with the clock standing still."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from fastapi import FastAPI

from api.app import create_app
from api.audit import Audit
from api.guards import Guards
from api.keys import Keyring
from api.queries.events import Trail
from api.queries.explaining import Explaining
from api.queries.origins import Origins
from api.queries.profile import Profiling
from api.queries.search import Models, found
from api.state import Serving, State
from pipeline.bus.log import LogBus
from pipeline.index.cache import NamespaceCache
from pipeline.measuring import Measuring
from pipeline.memory.keeper import Keeper
from pipeline.memory.ledger import Ledger
from pipeline.metrics import Metrics
from pipeline.profile.view import Profiles
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow
from pipeline.store import Store, open_store
from pipeline.store.blobs import FolderBlobs
from tests.api.answers import StaticQueries
from tests.api.rows import key
from tests.contract import Client
from tests.fakes import FixedClock, HashingEmbedder

Row = TypeVar("Row")
ADMIN = "rk_the_admin_key_of_the_tests"


def _become(rows: list[Row], _group: str, _held: list[Row]) -> list[Row]:
    return rows


@dataclass(frozen=True)
class Service:
    """What a test may look into."""

    app: FastAPI
    state: State
    store: Store
    bus: LogBus
    clock: FixedClock
    queries: StaticQueries

    async def hold(self, *rows: ChunkRow | MemoryRow) -> None:
        """Put rows into the store, as the pipeline does when it is done."""
        for row in rows:
            if isinstance(row, ChunkRow):
                held = (await self.store.chunks.get([row.document])).get(row.document, [])
                await self.store.chunks.update([row.document], partial(_become, [*held, row]))
            else:
                await self.store.memories.update([row.id], partial(_become, [row]))

    async def finish(self, *documents: str, **fields: Any) -> None:
        """Let alice's documents be done, with the text that was submitted."""

        def done(_: str, held: list[DocumentRow]) -> list[DocumentRow]:
            text = held[0].source.text if held[0].source else None
            made = {
                "text": text,
                "text_seq": held[0].content_seq,
                "status": "done",
                "dreaming": False,
                **fields,
            }
            return [replace(held[0], **made)]

        await self.store.documents.update([key(one) for one in documents], done)


def explaining(store: Store, cache: NamespaceCache, clock: FixedClock) -> Explaining:
    embedder = HashingEmbedder(4)
    profiles = Profiles(
        documents=store.documents,
        memories=store.memories,
        catalog=store.catalog,
        embedder=embedder,
        clock=clock,
    )
    models = Models(embedder)
    return Explaining(
        partial(found, cache, models, clock),
        cache,
        Profiling(profiles, cache, clock),
        models,
        clock,
    )


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Service]:
    """A service on this folder."""
    clock, queries = FixedClock(), StaticQueries()
    metrics = Metrics()
    bus = await LogBus.open(folder / "log", partitions=2, clock=clock, observer=metrics)
    store = await open_store(str(folder / "tables"), dimensions=4, shards=1)
    writers = asyncio.create_task(store.run())
    cache = NamespaceCache(
        store.documents, store.chunks, store.memories, store.catalog, 1024 * 1024, folder=folder / "index"
    )
    state = State(
        publisher=bus,
        documents=store.documents,
        chunks=store.chunks,
        memories=store.memories,
        catalog=store.catalog,
        operations=store.operations,
        keeper=Keeper(store.memories, Ledger(store.memories), store.catalog),
        blobs=FolderBlobs(folder / "blobs"),
        clock=clock,
        keyring=Keyring(store.catalog, ADMIN),
        search=queries.search,
        profile=queries.profile,
        related=queries.related,
        matching=queries.matching,
        explaining=explaining(store, cache, clock),
        origins=Origins(cache, store.documents, store.chunks, store.memories, Trail(bus), "none"),
        health=Measuring(bus, store, cache, metrics, folder),
        metrics=metrics,
        dead_letters=bus,
        guards=Guards(audit=Audit(bus, bus)),
    )

    @asynccontextmanager
    async def opening() -> AsyncIterator[Serving]:
        yield Serving(state)

    app = create_app(opening)
    async with app.router.lifespan_context(app):
        yield Service(app, state, store, bus, clock, queries)
    await store.close()
    await writers
    await bus.close()


@pytest.fixture
async def service(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Service]:
    """A service of its own."""
    async with opened(tmp_path) as service:
        yield service


@pytest.fixture
def client(service: Service) -> Client:
    """The administrator, on that service."""
    return Client(httpx2.ASGITransport(service.app), ADMIN)
