"""What requests work with, put together from the pipeline that is live."""

from collections.abc import Callable
from dataclasses import replace

from api import ports
from api.guards import Guards
from api.queries.search import Models
from api.quotas import OfConnectors
from api.service import open_state
from api.state import Serving, State
from pipeline.live import Live
from pipeline.replay.job import Replays
from pipeline.rows import KeyRow
from pipeline.worker import Pipeline


async def serving_of(
    live: Live,
    replays: Replays,
    admin_key: str | None,
    connectors: ports.Connectors | None = None,
    guards: Guards | None = None,
) -> Serving:
    """What requests work with: the pipeline that is live, whichever that is by then."""
    first = await _state(live.pipeline, admin_key, connectors)
    serving = Serving(replace(first, replays=replays, guards=guards or Guards()))

    async def prepare(successor: Pipeline) -> Callable[[], None]:
        state = await _state(successor, admin_key, connectors)
        before = serving.state

        def swap() -> None:
            serving.state = replace(
                state, replays=replays, quota=before.quota, uploads=before.uploads, guards=before.guards
            )

        return swap

    live.serve(prepare)
    return serving


def allowance_of(live: Live, guards: Guards) -> OfConnectors:
    """The quotas, as connectors are held to them."""

    def key(id_: str) -> KeyRow | None:
        # Of the pipeline that is live by then.
        return live.pipeline.store.catalog.key(id_)

    return OfConnectors(guards.quotas, key, live.foundation.clock)


async def _state(pipeline: Pipeline, admin_key: str | None, connectors: ports.Connectors | None) -> State:
    return await open_state(
        bus=pipeline.bus,
        publisher=pipeline.publisher,
        store=pipeline.store,
        blobs=pipeline.blobs,
        cache=pipeline.cache,
        profiles=pipeline.profiles,
        keeper=pipeline.keeper,
        changes=pipeline.changes,
        tombstones=pipeline.tombstones,
        models=Models(pipeline.embedder, pipeline.foundation.reranker, pipeline.foundation.rewriter),
        clock=pipeline.clock,
        measuring=pipeline.measuring,
        metrics=pipeline.foundation.metrics,
        admin_key=admin_key,
        connectors=connectors,
    )
