"""The state of a service put together from a pipeline's parts."""

from functools import partial

from api import keys
from api.keys import Keyring
from api.ports import Connectors
from api.queries import profile, related, search
from api.queries.events import Trail
from api.queries.explaining import Explaining
from api.queries.origins import Origins
from api.state import State
from pipeline.bus.port import Bus
from pipeline.changes import Changes
from pipeline.index.cache import NamespaceCache
from pipeline.measuring import Measuring
from pipeline.memory.keeper import Keeper
from pipeline.metrics import Metrics
from pipeline.ports import Blobs, Clock, Publisher, Tombstones
from pipeline.profile.view import Profiles
from pipeline.store import Store
from schemas.events import FeedbackSubmitted
from schemas.topics import FEEDBACK_SUBMITTED


async def open_state(
    *,
    bus: Bus,
    publisher: Publisher,
    store: Store,
    blobs: Blobs,
    cache: NamespaceCache,
    profiles: Profiles,
    keeper: Keeper,
    changes: Changes,
    tombstones: Tombstones,
    models: search.Models,
    clock: Clock,
    measuring: Measuring,
    metrics: Metrics,
    admin_key: str | None,
    connectors: Connectors | None = None,
) -> State:
    """Everything the routes need. `admin_key`: the operator's own, beside the keys in the catalog."""
    profiling = profile.Profiling(profiles, cache, clock)
    find = metrics.searching(partial(search.found, cache, models, clock))
    state = State(
        publisher=publisher,
        documents=store.documents,
        chunks=store.chunks,
        memories=store.memories,
        catalog=store.catalog,
        operations=store.operations,
        keeper=keeper,
        blobs=blobs,
        clock=clock,
        keyring=Keyring(store.catalog, admin_key),
        search=partial(search.search, find),
        profile=profiling,
        related=partial(related.related, cache, store.memories, store.documents),
        matching=partial(search.matching, cache, models.embedder, store.memories),
        explaining=Explaining(find, cache, profiling, models, clock),
        origins=Origins(
            cache, store.documents, store.chunks, store.memories, Trail(bus), models.embedder.name
        ),
        health=measuring,
        metrics=metrics,
        dead_letters=bus,
        changes=changes,
        connectors=connectors,
        tombstones=tombstones,
    )
    events = [
        FeedbackSubmitted.model_validate_json(record.value)
        async for record in bus.read(FEEDBACK_SUBMITTED.name)
    ]
    state.quota.restore(events, clock.now())
    return state


async def first_key(state: State) -> str | None:
    """The secret of a new admin key where the catalog has none; None where somebody has one already."""
    async with state.changes.turn():
        stored = state.catalog.keys()
        if any(row.role == "admin" and row.revoked_at is None for row in stored):
            return None
        change, secret = keys.mint("first admin key", "admin", None, now=state.clock.now())
        await keys.save(change, state.publisher, state.catalog)
        return secret
