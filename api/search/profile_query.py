"""Profiles: what lasts, what is going on now, and the namespace's own sections."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from weakref import ref

from pipeline.columns import to_microseconds
from pipeline.errors import NotReadyError
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.index.point_in_time_index import PointInTimeIndex
from pipeline.ports import Clock
from pipeline.profile.bucket_classifier import effective_buckets
from pipeline.profile.fact_aggregation import ProfileEntry
from pipeline.profile.fact_relevance import is_lasting
from pipeline.profile.profile_cache import SNAPSHOT_TTL_MS, ProfileCache
from pipeline.profile.profile_sections import ProfileSnapshot, SectionFact, build_profile
from pipeline.profile.profile_state import parse_valid_time_ms
from pipeline.rows import NamespaceRow, OrganizationRow
from schemas.filters import FilterExpression
from schemas.http.v5.profile_bodies import Profile, ProfileBody, ProfileFact

MAX_FILTERED_MEMORIES = 200
"""Newest facts of each kind in a filtered profile, which can't be maintained as the memories change."""
FIRST_PROFILE_TIMEOUT_SECONDS = 20.0
"""Wait for the first profile of a very large namespace after a start; its making continues after the timeout."""
RETRY_AFTER_SECONDS = 5
_LOADING_MESSAGE = (
    "The memories of namespace {name} are being read, as they are once after a start. It goes on: ask again."
)
FILTERED_CACHE_CAPACITY = 256
"""Number of cached filtered profiles, some ten KB each."""


_CacheKey = tuple[str, str, tuple[tuple[str, str], ...]]
"""A namespace, a filter and the definitions of buckets."""


@dataclass(frozen=True, slots=True)
class _CachedProfile:
    """Profile of what an index held in its revision `index_revision`, computed for a moment."""

    index: "ref[NamespaceIndex]"
    index_revision: int
    computed_at: datetime
    snapshot: ProfileSnapshot


class FilteredProfileCache:
    """Cache of filtered profiles; an entry is valid until its index changes or its time is up."""

    def __init__(self, capacity: int = FILTERED_CACHE_CAPACITY) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[_CacheKey, _CachedProfile] = OrderedDict()

    def get(self, key: _CacheKey, index: NamespaceIndex, now: datetime) -> ProfileSnapshot | None:
        entry = self._entries.get(key)
        if entry is None or entry.index() is not index or entry.index_revision != index.revision:
            return None
        if not entry.computed_at <= now < entry.computed_at + timedelta(milliseconds=SNAPSHOT_TTL_MS):
            return None
        self._entries.move_to_end(key)
        return entry.snapshot

    def put(self, key: _CacheKey, entry: _CachedProfile) -> None:
        """Cache a profile; the least recently used one is evicted."""
        self._entries[key] = entry
        self._entries.move_to_end(key)
        while len(self._entries) > self._capacity:
            self._entries.popitem(last=False)


@dataclass(frozen=True, slots=True)
class ProfileQuery:
    """Profiles of namespaces: from the maintained profile, or with a filter from the namespace index."""

    profiles: ProfileCache
    cache: NamespaceIndexCache
    clock: Clock
    timeout_seconds: float = FIRST_PROFILE_TIMEOUT_SECONDS
    filtered_cache: FilteredProfileCache = field(default_factory=FilteredProfileCache)

    async def __call__(self, namespace: NamespaceRow, organization: OrganizationRow, body: ProfileBody) -> Profile:
        """Return the profile of a namespace; undefined buckets are empty."""
        snapshot = await self.snapshot(namespace, organization, body.filter)
        names = body.buckets if body.buckets is not None else snapshot.buckets
        return Profile(
            static=_profile_facts(snapshot.static),
            dynamic=_profile_facts(snapshot.dynamic),
            buckets={name: _profile_facts(snapshot.buckets.get(name, ())) for name in names},
        )

    async def snapshot(
        self, namespace: NamespaceRow, organization: OrganizationRow, filter_expression: FilterExpression | None
    ) -> ProfileSnapshot:
        """Return all sections, with every change made so far; NotReadyError if loading them takes long."""
        bound = asyncio.timeout(self.timeout_seconds)
        try:
            async with bound:
                return await self._snapshot(namespace, organization, filter_expression)
        except TimeoutError:
            if not bound.expired():
                raise
            raise NotReadyError(_LOADING_MESSAGE.format(name=namespace.name), RETRY_AFTER_SECONDS) from None

    async def _snapshot(
        self, namespace: NamespaceRow, organization: OrganizationRow, filter_expression: FilterExpression | None
    ) -> ProfileSnapshot:
        if filter_expression is None:
            return await self.profiles.get_profile(namespace, organization)
        index, definitions = await self.cache.open(namespace), effective_buckets(namespace, organization)
        now = self.clock.now()
        key = (namespace.name, filter_expression.model_dump_json(), tuple(definitions.items()))
        cached = self.filtered_cache.get(key, index, now)
        if cached is None:
            revision = index.revision
            cached = await self.filtered_snapshot(filter_expression, index, definitions, now)
            self.filtered_cache.put(key, _CachedProfile(ref(index), revision, now, cached))
        return cached

    async def snapshot_at(
        self,
        index: PointInTimeIndex,
        definitions: Mapping[str, str],
        filter_expression: FilterExpression | None,
        moment: datetime,
    ) -> ProfileSnapshot:
        """Return the profile at a past moment, with the buckets that are defined now."""
        if filter_expression is not None:
            return await self.filtered_snapshot(filter_expression, index, definitions, moment)
        state = await self.profiles.empty_state(definitions)
        rows = index.current_memories()
        await asyncio.to_thread(state.apply_changes, [(row.id, row) for row in rows])
        now_ms = to_microseconds(moment) // 1000
        return build_profile(state.facts.values(), definitions, now_ms, self.profiles.max_tokens)

    async def filtered_snapshot(
        self,
        filter_expression: FilterExpression,
        index: NamespaceIndex,
        definitions: Mapping[str, str],
        moment: datetime,
    ) -> ProfileSnapshot:
        memories = await index.newest_memories(filter_expression, MAX_FILTERED_MEMORIES)
        buckets = await self.profiles.classify(
            definitions,
            [memory.id for memory in memories],
            [memory.vector for memory in memories],
            [memory.text for memory in memories],
        )
        log_odds = self.profiles.lasting_statements.log_odds_of([memory.vector for memory in memories])
        facts = [
            SectionFact(
                memory.id,
                memory.text,
                parse_valid_time_ms(memory.updated_at, memory.date),
                is_lasting(memory.text, is_static=memory.is_static, log_odds=odds),
                worth=memory.worth,
                buckets=names,
            )
            for memory, names, odds in zip(memories, buckets, log_odds, strict=True)
        ]
        return build_profile(facts, definitions, to_microseconds(moment) // 1000, self.profiles.max_tokens)


def _profile_facts(facts: Sequence[ProfileEntry]) -> list[ProfileFact]:
    return [ProfileFact(id=fact.id, memory=fact.text) for fact in facts]
