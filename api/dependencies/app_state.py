"""The state of requests: the opened components of the generation in service, wired by `app.container`."""

from dataclasses import dataclass, field

from api.dependencies import service_interfaces
from api.policies.api_keys import ApiKeyAuthenticator
from api.policies.key_tree import KeyTree
from api.policies.request_policies import RequestPolicies
from pipeline.bus.port import Bus
from pipeline.health import HealthService
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.parsing.pdf_pages.page_renderer import PageRenderer
from pipeline.ports import Blobs, Clock, Publisher, Submissions
from pipeline.runtime.metrics import Metrics
from pipeline.runtime.settings_lock import SettingsLock
from pipeline.store import (
    OperationRepository,
    SettingsCatalog,
    ShardedChunkTable,
    ShardedDocumentTable,
    ShardedMemoryTable,
)


@dataclass(frozen=True, slots=True)
class Queries:
    """Reads of an existing namespace, with their dependencies bound."""

    search: service_interfaces.SearchFunction
    build_profile: service_interfaces.ProfileFunction
    find_related: service_interfaces.RelatedMemoriesFunction
    find_semantic_matches: service_interfaces.SemanticMatchFunction
    explainer: service_interfaces.Explainer
    provenance: service_interfaces.ProvenanceReader


@dataclass(frozen=True, slots=True)
class AppState:
    publisher: Publisher
    documents: ShardedDocumentTable
    chunks: ShardedChunkTable
    memories: ShardedMemoryTable
    catalog: SettingsCatalog
    operations: OperationRepository
    memory_repository: MemoryRepository
    blobs: Blobs
    page_renderer: PageRenderer
    clock: Clock
    keyring: ApiKeyAuthenticator
    key_tree: KeyTree
    queries: Queries
    health: HealthService
    submissions: Submissions
    dead_letters: Bus | None = None
    metrics: Metrics = field(default_factory=Metrics)
    replays: service_interfaces.ReplayService | None = None
    erasures: service_interfaces.ErasureService | None = None
    connectors: service_interfaces.ConnectorService | None = None
    """None: this deployment has no connectors."""
    policies: RequestPolicies = field(default_factory=RequestPolicies)
    feed: service_interfaces.NamespaceFeed | None = None
    questions: service_interfaces.QuestionService | None = None
    settings_lock: SettingsLock = field(default_factory=SettingsLock)


@dataclass(slots=True)
class CurrentAppState:
    """The state of new requests; a request in progress keeps the state it began with."""

    state: AppState
