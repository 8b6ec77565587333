"""State of requests: the opened components of the active generation, and lookups of rows by id or key."""

from collections.abc import Collection
from dataclasses import dataclass, field

from api.dependencies import service_interfaces
from api.errors.http_errors import NotFoundError
from api.explain.origin_tracer import OriginTracer
from api.explain.query_explainer import QueryExplainer
from api.feed.feed_hub import FeedHub
from api.policies.api_keys import ApiKeyAuthenticator, KeyTree
from api.policies.request_policies import RequestPolicies
from api.questions.question_notifier import QuestionNotifier
from pipeline.bus.port import Bus
from pipeline.health import HealthService
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.parsing.pdf_pages.page_renderer import PageRenderer
from pipeline.ports import Blobs, Clock, Publisher, Submissions
from pipeline.rows import DocumentRow, MemoryRow, NamespaceRow, OperationRow
from pipeline.runtime.metrics import Metrics
from pipeline.runtime.settings_lock import SettingsLock
from pipeline.store import (
    AnswerRepository,
    RowRepository,
    SettingsCatalog,
    ShardedChunkTable,
    ShardedDocumentTable,
    ShardedMemoryTable,
)

STALE_SCOPE_KEY = "recollect.stale"
"""Key in the ASGI scope that is true if a request was answered without what others acknowledged just before."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Reads of an existing namespace, with their dependencies bound."""

    search: service_interfaces.SearchFunction
    build_profile: service_interfaces.ProfileFunction
    find_related: service_interfaces.RelatedMemoriesFunction
    find_semantic_matches: service_interfaces.SemanticMatchFunction
    explainer: QueryExplainer
    provenance: OriginTracer


@dataclass(frozen=True, slots=True)
class AppState:
    publisher: Publisher
    documents: ShardedDocumentTable
    chunks: ShardedChunkTable
    memories: ShardedMemoryTable
    catalog: SettingsCatalog
    operations: RowRepository[OperationRow]
    answers: AnswerRepository
    memory_repository: MemoryRepository
    blobs: Blobs
    page_renderer: PageRenderer
    clock: Clock
    keyring: ApiKeyAuthenticator
    key_tree: KeyTree
    queries: Queries
    health: HealthService
    submissions: Submissions
    bus: Bus
    policies: RequestPolicies
    replays: service_interfaces.ReplayService
    erasures: service_interfaces.ErasureService
    questions: QuestionNotifier
    feed: FeedHub | None = None
    connectors: service_interfaces.ConnectorService | None = None
    """None: this deployment has no connectors."""
    metrics: Metrics = field(default_factory=Metrics)
    settings_lock: SettingsLock = field(default_factory=SettingsLock)

    def incarnations_of(self, namespace: str) -> tuple[str, ...]:
        """Return the incarnations of a namespace; none if it does not exist."""
        row = self.catalog.namespace(namespace)
        return row.incarnations if row else ()

    async def find_documents(self, namespace: str, ids: Collection[str]) -> dict[str, DocumentRow]:
        """Return the documents of a namespace by their public ids."""
        incarnations = self.incarnations_of(namespace)
        return await self.documents.find_by_public_id(incarnations, ids) if incarnations else {}

    async def find_memories(self, namespace: str, ids: Collection[str]) -> dict[str, MemoryRow]:
        """Return the memories of a namespace by their ids, forgotten ones too."""
        incarnations = self.incarnations_of(namespace)
        found = await self.memories_by_id(ids) if incarnations else {}
        return {id_: row for id_, row in found.items() if row.incarnation in incarnations}

    def require_namespace(self, namespace: str) -> NamespaceRow:
        row = self.catalog.namespace(namespace)
        if row is None:
            raise NotFoundError("Namespace not found", f"{namespace} has no content yet: add a document to create it.")
        return row

    async def require_document(self, namespace: str, id_: str) -> DocumentRow:
        row = (await self.find_documents(namespace, [id_])).get(id_)
        if row is None:
            raise NotFoundError("Document not found", f"There is no document {id_[:100]!r} in {namespace}.")
        return row

    async def require_memory(self, namespace: str, id_: str) -> MemoryRow:
        row = (await self.find_memories(namespace, [id_])).get(id_)
        if row is None:
            raise NotFoundError("Memory not found", f"There is no memory {id_[:100]!r} in {namespace}.")
        return row

    async def documents_by_key(self, keys: Collection[str]) -> dict[str, DocumentRow]:
        found = await self.documents.get(keys) if keys else {}
        return {key: rows[0] for key, rows in found.items() if rows}

    async def memories_by_id(self, ids: Collection[str]) -> dict[str, MemoryRow]:
        found = await self.memories.get(ids) if ids else {}
        return {id_: rows[0] for id_, rows in found.items() if rows}


@dataclass(slots=True)
class CurrentAppState:
    """The state of new requests; a request in progress keeps the state it began with."""

    state: AppState
