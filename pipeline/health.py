"""Health of the service: sizes and lag for metrics, and the issues that keep it from being ready."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pipeline.bus.port import Bus
from pipeline.errors import OutageError
from pipeline.index.namespace_index_cache import IndexCacheStats, NamespaceIndexCache
from pipeline.runtime.durable_files import free_files
from pipeline.runtime.metrics import Metrics, ReadinessState
from pipeline.stage import Stage
from pipeline.store import Store
from pipeline.store.lancedb.table_size import TableSize
from schemas.topics import ALL_TOPICS

STUCK_BATCH_SECONDS = 300.0
"""A batch that takes longer is stuck: a file may take a minute, and eight are parsed at once."""
RETRY_TOLERANCE_SECONDS = 10.0
"""Retrying longer than this makes a stage a health issue."""
BUS_TIMEOUT_SECONDS = 5.0
"""Longest wait for the bus: load balancers and Prometheus give up after ten seconds."""
MIN_FREE_DISK_BYTES = 16 * 1024 * 1024
"""Free disk space below which writing is about to fail."""
MIN_FREE_FILES = 256
"""Names of files left on a disk below which writing is about to fail."""


@dataclass(frozen=True, slots=True)
class HealthIssue:
    """A component that is not ready and the reason, for people; contains no user data."""

    component: str
    reason: str


@dataclass(frozen=True, slots=True)
class HealthSnapshot:
    """Sizes and lag at one moment. Bytes are None for what is not on a local disk."""

    bus_description: str
    """Kind and location of the bus, for people."""
    lag: Mapping[tuple[str, str], int]
    """Unprocessed records by consumer group and topic."""
    dead_letters: Mapping[str, int]
    tables: Mapping[str, TableSize]
    log_bytes: int | None
    disk_free_bytes: int | None
    index_cache: IndexCacheStats
    health_issues: Sequence[HealthIssue]
    """Among them one of the bus where lag and dead letters are unknown, and empty here."""


@dataclass(eq=False)
class HealthService:
    """Checks the parts of a running service on request.

    `folders`: local ones that are written to, which may lie on several disks. `stages`: those whose lag is looked at
    (None: of every group that has a position).
    """

    bus: Bus
    store: Store
    index_cache: NamespaceIndexCache
    metrics: Metrics
    folders: Collection[Path]
    _: KW_ONLY
    stages: Sequence[Stage[Any]] | None = None

    async def health_issues(self) -> list[HealthIssue]:
        """Return the issues that keep the service from being ready; cheap enough for a call every second."""
        found = [*_stage_health_issues(self.metrics.readiness)]
        if (reason := self.bus.health_issue) is not None:
            found.append(HealthIssue("bus", reason))
        found += [HealthIssue("tables", reason) for reason in self.store.health_issues()]
        found += [HealthIssue("disk", f"{left}; writing is about to fail") for left in self._disk_issues()]
        return sorted(found, key=lambda trouble: trouble.component)

    async def lag(self) -> dict[tuple[str, str], int]:
        """Records not yet handled, by stage (called the same whatever tables it fills) and topic.

        OutageError if the bus does not answer soon.
        """
        async with self._bus_deadline():
            return await self._lag()

    async def _lag(self) -> dict[tuple[str, str], int]:
        stages = self.stages
        names = None if stages is None else {stage.group: f"recollect.{stage.name}" for stage in stages}
        behind: dict[tuple[str, str], int] = {}
        for group, streams in (await self.bus.lag(stages or ())).items():
            name = group if names is None else names.get(group)
            if name is not None:
                for (topic, _), count in streams.items():
                    behind[name, topic] = behind.get((name, topic), 0) + count
        return behind

    async def snapshot(self) -> HealthSnapshot:
        """Check every part once; while the bus does not answer, all others."""
        lag, dead_letters = dict[tuple[str, str], int](), dict[str, int]()
        issues = await self.health_issues()
        try:
            async with self._bus_deadline():
                lag = await self._lag()
                dead_letters = {topic.name: await self.bus.depth(topic.dead_letter_topic) for topic in ALL_TOPICS}
        except OutageError as error:
            issues = with_bus_issue(issues, error)
        return HealthSnapshot(
            bus_description=self.bus.description,
            lag=lag,
            dead_letters=dead_letters,
            tables=await self.store.sizes(),
            log_bytes=await asyncio.to_thread(lambda: self.bus.disk_bytes),
            disk_free_bytes=self._disk_free_bytes(),
            index_cache=self.index_cache.stats,
            health_issues=issues,
        )

    async def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format: counters, and a snapshot of sizes and lag."""
        measured = await self.snapshot()
        return await asyncio.to_thread(_render_exposition, self.metrics.registry, measured)

    @asynccontextmanager
    async def _bus_deadline(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(BUS_TIMEOUT_SECONDS):
                yield
        except TimeoutError as error:
            raise OutageError(f"{self.bus.description} did not answer within {BUS_TIMEOUT_SECONDS:.0f} s.") from error

    def _disk_issues(self) -> Iterator[str]:
        free = self._disk_free_bytes()
        if free is not None and free < MIN_FREE_DISK_BYTES:
            yield f"{free / 1024**2:.0f} MiB are free"
        known = (free_files(folder) for folder in self._made_folders())
        files = min((number for number in known if number is not None), default=MIN_FREE_FILES)
        if files < MIN_FREE_FILES:
            yield f"only {files} more files (inodes) can be made"

    def _disk_free_bytes(self) -> int | None:
        return min((shutil.disk_usage(folder).free for folder in self._made_folders()), default=None)

    def _made_folders(self) -> list[Path]:
        return [folder for folder in self.folders if folder.exists()]


def with_bus_issue(issues: list[HealthIssue], outage: OutageError) -> list[HealthIssue]:
    """Return issues with that of a bus which does not answer, unless they tell of the bus already."""
    known = any(issue.component == "bus" for issue in issues)
    return issues if known else [*issues, HealthIssue("bus", str(outage))]


def _stage_health_issues(readiness: ReadinessState) -> Iterator[HealthIssue]:
    now = monotonic()
    for (stage, partition), wait in readiness.retrying.items():
        if now - wait.since >= RETRY_TOLERANCE_SECONDS:
            since = now - wait.since
            yield HealthIssue(f"stage {stage}", f"partition {partition} fails for {since:.0f} s with {wait.error}")
    for (stage, partition), began in readiness.batches_in_progress.items():
        if now - began >= STUCK_BATCH_SECONDS and (stage, partition) not in readiness.retrying:
            yield HealthIssue(f"stage {stage}", f"partition {partition} works on one batch for {now - began:.0f} s")
    if readiness.stale_generation is not None:
        yield HealthIssue("tables", readiness.stale_generation)
    if (wait_ := readiness.embedder_failure) is not None:
        yield HealthIssue("embedder", f"does not answer for {now - wait_.since:.0f} s ({wait_.error})")


def _render_exposition(registry: CollectorRegistry, snapshot: HealthSnapshot) -> bytes:
    snapshot_registry = CollectorRegistry()
    snapshot_registry.register(_SnapshotCollector(snapshot))
    return generate_latest(registry) + generate_latest(snapshot_registry)


class _SnapshotCollector(Collector):
    def __init__(self, snapshot: HealthSnapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        seen = self._snapshot
        lag = _labelled_gauge("consumer_lag_records", "Records not yet handled.", "stage", "topic")
        for (group, topic), count in seen.lag.items():
            lag.add_metric([group.removeprefix("recollect."), topic], count)
        dead = _labelled_gauge("dead_letters", "Records that could not be handled.", "topic")
        for topic, count in seen.dead_letters.items():
            dead.add_metric([topic], count)
        issues = _labelled_gauge("health_issues", "Reasons why /ready answers 503.", "component")
        for component, count in Counter(issue.component for issue in seen.health_issues).items():
            issues.add_metric([component], count)
        yield from (lag, dead, issues, *self._table_metrics(), *self._index_cache_metrics())
        if seen.log_bytes is not None:
            yield _unlabelled_gauge("log_bytes", "The log on disk.", seen.log_bytes)
        if seen.disk_free_bytes is not None:
            yield _unlabelled_gauge("disk_free_bytes", "Free space where the data is.", seen.disk_free_bytes)

    def _table_metrics(self) -> Iterator[Metric]:
        parts = {"rows": "Rows", "bytes": "Bytes on disk", "files": "Files on disk", "versions": "Versions kept"}
        for part, text in parts.items():
            gauge = _labelled_gauge(f"table_{part}", f"{text} of a table.", "table")
            for table, size in self._snapshot.tables.items():
                if (value := getattr(size, part)) is not None:
                    gauge.add_metric([table], value)
            yield gauge

    def _index_cache_metrics(self) -> Iterator[Metric]:
        usage = self._snapshot.index_cache
        yield _unlabelled_gauge("index_cache_bytes", "Memory used by cached namespace indexes.", usage.nbytes)
        yield _unlabelled_gauge("index_cache_namespaces", "Namespace indexes in the cache.", usage.namespaces)
        yield _unlabelled_gauge(
            "index_cache_hits", "Searches served by a cached namespace index since the start.", usage.hits
        )
        yield _unlabelled_gauge(
            "index_cache_misses", "Searches that loaded their namespace index since the start.", usage.misses
        )


def _labelled_gauge(name: str, help_text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"recollect_{name}", help_text, labels=labels)


def _unlabelled_gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"recollect_{name}", help_text, value=value)
