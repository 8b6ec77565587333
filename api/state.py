"""What the routes work with: ports and values, put together by the composition root."""

import asyncio
from dataclasses import dataclass, field

from api import ports
from api.guards import Guards
from api.keys import Keyring
from api.queries.feedback import Quota
from pipeline.changes import Changes
from pipeline.metrics import Metrics
from pipeline.ports import Blobs, Clock, Operations, Publisher, Tombstones
from pipeline.tombstones import LocalTombstones


@dataclass(frozen=True, slots=True)
class State:
    """Everything a request may need. The queries are functions with their own ports already bound."""

    publisher: Publisher
    documents: ports.Documents
    chunks: ports.Chunks
    memories: ports.Memories
    catalog: ports.Catalog
    operations: Operations
    keeper: ports.Keeper
    blobs: Blobs
    clock: Clock
    keyring: Keyring
    search: ports.Search
    profile: ports.Profiles
    related: ports.Related
    matching: ports.Matching
    explaining: ports.Explaining
    origins: ports.Origins
    health: ports.Health
    dead_letters: ports.DeadLetters | None = None
    metrics: Metrics = field(default_factory=Metrics)
    replays: ports.Replays | None = None
    connectors: ports.Connectors | None = None
    """None: this deployment has no connectors."""
    quota: Quota = field(default_factory=Quota)
    guards: Guards = field(default_factory=Guards)
    tombstones: Tombstones = field(default_factory=LocalTombstones)
    changes: Changes = field(default_factory=Changes)
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    """Bounds how many uploaded files are in memory at once."""


@dataclass(slots=True)
class Serving:
    """The state that requests work with from now on; one that has begun ends with the state it began with."""

    state: State
