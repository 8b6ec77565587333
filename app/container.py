"""The container: opens pipeline, policies, connectors and replays, and wires the interface to them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial

import httpx2

from api.dependencies.app_state import AppState, CurrentAppState, Queries
from api.explain.event_locator import EventLocator
from api.explain.origin_tracer import OriginTracer
from api.explain.query_explainer import QueryExplainer
from api.feed.feed_events import FeedTables
from api.feed.feed_hub import FeedHub
from api.policies.api_keys import ApiKeyAuthenticator, KeyFamily, KeyTree, find_key_obstacle
from api.policies.monthly_quotas import ConnectorQuota
from api.policies.request_policies import RequestPolicies, open_request_policies
from api.questions.question_matching import QuestionSources
from api.questions.question_notifier import QuestionNotifier
from api.questions.webhook_sender import WebhookSender
from api.search import profile_query, related_memories
from api.search.search_query import NamespaceSearch, SearchModels
from app.connector_composition import ConnectorRuntime, encryption_keys, open_connectors, open_vault
from app.erasure_service import ErasureService
from app.generation_pipeline import Pipeline
from app.key_destroyer import KeyDestroyer
from app.pipeline_supervisor import PipelineSupervisor, open_supervisor
from app.replay.replay_service import ReplayService
from app.replay.replay_worker import ReplayWorker
from app.wiring import wire
from connectors.provider_interface import Provider
from pipeline.question_registry import QuestionRegistry
from pipeline.runtime.outage_retry import run_through_outages
from pipeline.settings import Settings
from schemas.events import KeyChanged, QuestionChanged


@dataclass(frozen=True, slots=True)
class ProviderOverrides:
    """Providers of a test, and the transport that stands in for the network to their origins."""

    providers: Mapping[str, Provider]
    transport: httpx2.AsyncBaseTransport | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Container:
    """The opened parts of one process; nothing runs yet. All but the pipeline outlive a generation of tables."""

    supervisor: PipelineSupervisor
    policies: RequestPolicies
    connectors: ConnectorRuntime | None
    feed: FeedHub
    questions: QuestionNotifier
    admin_key: str | None = field(repr=False)
    replays: ReplayService = field(init=False)
    replay_worker: ReplayWorker = field(init=False)
    erasures: ErasureService = field(init=False)
    key_destroyer: KeyDestroyer = field(init=False)
    serving: CurrentAppState = field(init=False)
    """State of requests: built now, and again whenever another pipeline takes over."""

    def __post_init__(self) -> None:
        interval = self.supervisor.resources.settings.erasure_interval_hours * 3600
        self.replays = ReplayService(self.supervisor)
        self.replay_worker = ReplayWorker(self.supervisor, self.replays)
        self.erasures = ErasureService(self.supervisor, self.replays, interval)
        self.key_destroyer = KeyDestroyer(self.supervisor)
        self.serving = CurrentAppState(self._build_state(self.supervisor.pipeline))
        self.supervisor.add_switch_listener(self._prepare_state)

    async def run_questions(self) -> None:
        """Work on standing questions until cancelled."""
        await run_through_outages("Delivering standing questions", self.questions.run)

    async def _prepare_state(self, successor: Pipeline) -> Callable[[], None]:
        rebuilt = self._build_state(successor)

        def activate() -> None:
            self.serving.state = rebuilt

        return activate

    def _build_state(self, pipeline: Pipeline) -> AppState:
        catalog = pipeline.store.catalog
        return wire(
            AppState,
            pipeline,
            pipeline.store,
            pipeline.resources,
            self,
            keyring=ApiKeyAuthenticator(catalog, self.admin_key),
            key_tree=KeyTree(catalog),
            queries=_build_queries(pipeline),
            connectors=None if self.connectors is None else self.connectors.account_linking,
        )


@asynccontextmanager
async def open_container(
    settings: Settings,
    *,
    admin_key: str | None,
    public_url: str | None = None,
    runs_stages: bool = True,
    serves_requests: bool = True,
    overrides: ProviderOverrides | None = None,
) -> AsyncIterator[Container]:
    """Open everything; closed in reverse order, the log last.

    `admin_key`: the operator's own, beside the keys of the catalog. `public_url` None: without connectors.

    Raises:
        DataDirectoryLockedError, StoreMismatchError, VaultKeyError, ValueError: with a message for the operator.
    """
    async with (
        open_supervisor(settings, runs_stages=runs_stages, serves_requests=serves_requests) as supervisor,
        open_request_policies(settings, supervisor.resources.bus, supervisor.resources.clock) as policies,
        _open_feed(supervisor) as feed,
        _open_questions(supervisor) as questions,
    ):
        build = partial(
            Container, supervisor=supervisor, policies=policies, feed=feed, questions=questions, admin_key=admin_key
        )
        if public_url is None:
            yield build(connectors=None)
            return
        quota = _build_connector_quota(supervisor, policies)
        async with open_connectors(
            supervisor,
            public_url,
            quota,
            providers=None if overrides is None else overrides.providers,
            transport=None if overrides is None else overrides.transport,
        ) as connectors:
            yield build(connectors=connectors)


@asynccontextmanager
async def _open_feed(supervisor: PipelineSupervisor) -> AsyncIterator[FeedHub]:
    """Open the feed, which reads the tables of the pipeline that is active at the time."""

    resources = supervisor.resources
    keys = await asyncio.to_thread(encryption_keys, resources.settings)
    feed = FeedHub(resources.bus, resources.settings_lock, lambda: _feed_tables(supervisor.pipeline), keys)
    try:
        yield feed
    finally:
        await feed.close()


def _feed_tables(pipeline: Pipeline) -> FeedTables:
    store = pipeline.store
    # A process alone keeps its consumer groups over a replay.
    return FeedTables(store.catalog, store.documents, store.memories, pipeline.stages[0].generation)


@asynccontextmanager
async def _open_questions(supervisor: PipelineSupervisor) -> AsyncIterator[QuestionNotifier]:
    """Open the standing questions, without working on them."""
    resources = supervisor.resources

    def sources() -> QuestionSources:
        pipeline = supervisor.pipeline
        return QuestionSources(_feed_tables(pipeline), _build_search(pipeline), pipeline.store.refresh)

    def find_obstacle(question: QuestionChanged, namespace: str) -> str | None:
        find = supervisor.pipeline.store.catalog.key
        return find_key_obstacle(question.created_by_key, namespace, find, resources.clock.now())

    sender = WebhookSender(allow_private=resources.settings.fetch_private_addresses)
    try:
        async with QuestionRegistry(resources.bus).follow() as registry:
            yield wire(
                QuestionNotifier,
                resources,
                registry=registry,
                sender=sender,
                cipher=cache(partial(open_vault, resources.settings)),
                sources=sources,
                find_obstacle=find_obstacle,
            )
    finally:
        await sender.aclose()


def _build_queries(pipeline: Pipeline) -> Queries:
    """Bind the queries to this pipeline's tables and indexes."""
    resources, store, index_cache = pipeline.resources, pipeline.store, pipeline.index_cache
    search = replace(_build_search(pipeline), timer=resources.metrics.time_search)
    build_profile = profile_query.ProfileQuery(pipeline.profiles, index_cache, resources.clock)
    return Queries(
        search=search.answer,
        build_profile=build_profile,
        find_related=partial(related_memories.related_memories, index_cache, store.memories, store.documents),
        find_semantic_matches=search.find_meant,
        explainer=QueryExplainer(search, build_profile),
        provenance=wire(
            OriginTracer,
            store,
            cache=index_cache,
            event_locator=EventLocator(resources.bus),
            embedder_name=pipeline.embedder.name,
        ),
    )


def _build_search(pipeline: Pipeline) -> NamespaceSearch:
    resources, store = pipeline.resources, pipeline.store
    models = SearchModels(pipeline.embedder, resources.reranker, resources.query_rewriter)
    return NamespaceSearch(pipeline.index_cache, models, store.memories, store.documents, resources.clock)


def _build_connector_quota(supervisor: PipelineSupervisor, policies: RequestPolicies) -> ConnectorQuota:
    def find_key(id_: str) -> KeyChanged | None:
        # Looked up per call: a switch replaces the pipeline and its catalog.
        return supervisor.pipeline.store.catalog.key(id_)

    tree_of = lru_cache(maxsize=1)(KeyTree)

    def find_families(id_: str) -> Iterator[KeyFamily]:
        return tree_of(supervisor.pipeline.store.catalog).families(id_)

    return ConnectorQuota(policies.quotas, find_key, supervisor.resources.clock, find_families)
