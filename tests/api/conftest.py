"""Fixtures: the API on a real log and a real store, with a fixed clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from fastapi import FastAPI

from api.application import create_app
from api.dependencies.app_state import AppState, CurrentAppState, Queries
from api.explain.event_locator import EventLocator
from api.explain.origin_tracer import OriginTracer
from api.explain.query_explainer import QueryExplainer
from api.feed.feed_events import FeedTables
from api.policies.api_keys import ApiKeyAuthenticator, KeyTree
from api.policies.audit_log import AuditLog
from api.policies.recall_log import RecallLog
from api.policies.request_policies import RequestPolicies
from api.questions.question_matching import QuestionSources
from api.questions.question_notifier import QuestionNotifier
from api.questions.webhook_sender import WebhookSender
from api.search.profile_query import ProfileQuery
from api.search.search_query import NamespaceSearch, SearchModels
from connectors.accounts.credential_vault import CredentialCipher
from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.health import HealthService
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.memory.versioning.fact_lookup import FactLookup
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.parsing.pdf_pages.page_renderer import PageRenderer
from pipeline.profile.profile_cache import ProfileCache
from pipeline.question_registry import QuestionRegistry
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow
from pipeline.runtime.local_locks import LocalLocks
from pipeline.runtime.metrics import Metrics
from pipeline.runtime.settings_lock import SettingsLock
from pipeline.store import SettingsCatalog, Store, open_store
from pipeline.store.blobs.blob_store import FolderBlobs
from schemas.topics import SETTINGS_CHANGED
from tests.support.contract_client import ContractClient
from tests.support.fakes import FixedClock, HashingEmbedder
from tests.support.idle_services import IdleReplays, NoErasures
from tests.support.static_queries import StaticQueries
from tests.support.submissions import follow_submissions
from tests.support.table_rows import key

Row = TypeVar("Row")
ADMIN = "rk_the_admin_key_of_the_tests"


def _replace_rows(rows: list[Row], _group: str, _held: list[Row]) -> list[Row]:
    return rows


@dataclass(frozen=True)
class Service:
    """Application of a test with the parts it may inspect."""

    app: FastAPI
    state: AppState
    store: Store
    bus: SqliteBus
    clock: FixedClock
    queries: StaticQueries

    async def store_rows(self, *rows: ChunkRow | MemoryRow) -> None:
        """Store rows, as the pipeline does."""
        for row in rows:
            if isinstance(row, ChunkRow):
                held = (await self.store.chunks.get([row.document])).get(row.document, [])
                await self.store.chunks.update([row.document], partial(_replace_rows, [*held, row]))
            else:
                await self.store.memories.update([row.id], partial(_replace_rows, [row]))

    async def mark_documents_done(self, *documents: str, **fields: Any) -> None:
        """Set alice's documents to done, with their submitted text."""

        def done(_: str, held: list[DocumentRow]) -> list[DocumentRow]:
            text = held[0].source.text if held[0].source else None
            changes = {
                "text": text,
                "text_seq": held[0].content_seq,
                "status": "done",
                "extraction_pending": False,
                **fields,
            }
            return [replace(held[0], **changes)]

        await self.store.documents.update([key(document) for document in documents], done)


def make_explainer(store: Store, cache: NamespaceIndexCache, clock: FixedClock) -> QueryExplainer:
    embedder = HashingEmbedder(4)
    profiles = ProfileCache(
        documents=store.documents,
        memories=store.memories,
        catalog=store.catalog,
        embedder=embedder,
        clock=clock,
    )
    search = NamespaceSearch(cache, SearchModels(embedder), store.memories, store.documents, clock)
    return QueryExplainer(search, ProfileQuery(profiles, cache, clock))


@asynccontextmanager
async def open_service(folder: Path, site: Path | None = None) -> AsyncIterator[Service]:
    """Open a service on a folder, with a documentation site if one is given."""
    clock, queries = FixedClock(), StaticQueries()
    metrics = Metrics()
    bus = await SqliteBus.open(folder / "log", partitions=2, clock=clock, observer=metrics)
    catalog = SettingsCatalog()
    store = await open_store(str(folder / "tables"), dimensions=4, shards=1, catalog=catalog)
    writers = asyncio.create_task(store.run())
    cache = NamespaceIndexCache(
        store.documents, store.chunks, store.memories, store.catalog, 1024 * 1024, folder=folder / "index"
    )
    submissions = follow_submissions(bus, store.documents)
    stack = AsyncExitStack()
    settings = await stack.enter_async_context(bus.follow(SETTINGS_CHANGED, catalog.handle))
    settings_lock = SettingsLock(catch_up=settings.catch_up, wait_for=settings.wait_for)
    explainer = make_explainer(store, cache, clock)
    feed_tables = FeedTables(catalog, store.documents, store.memories, generation=0)
    sender = WebhookSender()
    stack.push_async_callback(sender.aclose)
    state = AppState(
        publisher=bus,
        documents=store.documents,
        chunks=store.chunks,
        memories=store.memories,
        catalog=store.catalog,
        operations=store.operations,
        answers=store.answers,
        memory_repository=MemoryRepository(store.memories, FactLookup(store.memories), store.catalog),
        blobs=FolderBlobs(folder / "blobs"),
        page_renderer=PageRenderer(),
        clock=clock,
        keyring=ApiKeyAuthenticator(store.catalog, ADMIN),
        key_tree=KeyTree(store.catalog),
        queries=Queries(
            search=queries.search,
            build_profile=queries.profile,
            find_related=queries.related,
            find_semantic_matches=queries.semantic_matches,
            explainer=explainer,
            provenance=OriginTracer(cache, store.documents, store.chunks, store.memories, EventLocator(bus), "none"),
        ),
        submissions=submissions,
        health=HealthService(bus, store, cache, metrics, [folder]),
        metrics=metrics,
        bus=bus,
        settings_lock=settings_lock,
        policies=RequestPolicies(AuditLog(bus), RecallLog(bus)),
        replays=IdleReplays(),
        erasures=NoErasures(),
        questions=QuestionNotifier(
            await stack.enter_async_context(QuestionRegistry(bus).follow()),
            bus,
            sender,
            lambda: CredentialCipher(None),
            lambda: QuestionSources(feed_tables, explainer.searching, store.refresh),
            find_obstacle=lambda _, __: None,
            clock=clock,
            locks=LocalLocks(),
            settings_lock=settings_lock,
        ),
    )

    @asynccontextmanager
    async def opening() -> AsyncIterator[CurrentAppState]:
        yield CurrentAppState(state)

    app = create_app(opening, site=site)
    async with app.router.lifespan_context(app):
        yield Service(app, state, store, bus, clock, queries)
    await stack.aclose()
    await submissions.close()
    await store.close()
    await writers
    await bus.close()


@pytest.fixture
async def service(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Service]:
    """Open a service for one test."""
    async with open_service(tmp_path) as service:
        yield service


@pytest.fixture
def client(service: Service) -> ContractClient:
    """Return an administrator's client of the service."""
    return ContractClient(httpx2.ASGITransport(service.app), ADMIN)
