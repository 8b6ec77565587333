"""How things are now: sizes and lag for a scrape, and what keeps the service from being ready."""

import asyncio
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pipeline.bus.port import Bus
from pipeline.index.cache import Usage
from pipeline.metrics import Metrics, Progress
from pipeline.ports import Catalog
from pipeline.stage import Stage
from pipeline.store.sizes import Size
from schemas.topics import ALL

STUCK_SECONDS = 300.0
"""A batch that takes longer is called stuck. A file may take a minute, and eight are read at once."""
PATIENCE_SECONDS = 10.0
"""How long a stage may try again before it counts."""
LOW_BYTES = 16 * 1024 * 1024
"""With less space than this on the disk, writing is about to fail."""


class Tables(Protocol):
    """What is asked of a store."""

    async def sizes(self) -> Mapping[str, Size]: ...

    def troubles(self) -> Iterable[str]: ...

    @property
    def catalog(self) -> Catalog: ...


class Cache(Protocol):
    """What is asked of the hot index."""

    @property
    def usage(self) -> Usage: ...


@dataclass(frozen=True, slots=True)
class Trouble:
    """A part that is not ready, and why; for people, and without anybody's data."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class Measured:
    """One look at everything. Bytes are None where nothing is on a local disk."""

    bus: str
    """What it is and where, for people."""
    lag: Mapping[tuple[str, str], int]
    """Records not yet handled, by stage's group and topic."""
    dead_letters: Mapping[str, int]
    tables: Mapping[str, Size]
    log_bytes: int | None
    free_bytes: int | None
    cache: Usage


class Measuring:
    """Looks at the parts of a running service when asked."""

    def __init__(
        self,
        log: Bus,
        store: Tables,
        cache: Cache,
        metrics: Metrics,
        folder: Path | None,
        *,
        stages: Sequence[Stage[Any]] | None = None,
    ) -> None:
        """`stages`: those whose lag is looked at (None: of every group that has a position)."""
        self._log = log
        self._store = store
        self._cache = cache
        self._metrics = metrics
        self._folder = folder
        self._stages = stages

    async def troubles(self) -> list[Trouble]:
        """What keeps the service from being ready; cheap enough to be asked every second."""
        found = [*_progress(self._metrics.progress)]
        if (reason := self._log.trouble) is not None:
            found.append(Trouble("bus", reason))
        found += [Trouble("tables", reason) for reason in self._store.troubles()]
        free = self._free()
        if free is not None and free < LOW_BYTES:
            found.append(Trouble("disk", f"{free / 1024**2:.0f} MiB are free; writing is about to fail"))
        return sorted(found, key=lambda trouble: trouble.part)

    async def lag(self) -> dict[tuple[str, str], int]:
        """Records not yet handled, by stage (called the same whatever tables it fills) and topic."""
        stages = self._stages
        names = None if stages is None else {stage.group: f"recollect.{stage.name}" for stage in stages}
        behind: dict[tuple[str, str], int] = {}
        for group, streams in (await self._log.lag(stages or ())).items():
            name = group if names is None else names.get(group)
            if name is not None:
                for (topic, _), count in streams.items():
                    behind[name, topic] = behind.get((name, topic), 0) + count
        return behind

    async def look(self) -> Measured:
        """One look at everything."""
        return Measured(
            bus=self._log.description,
            lag=await self.lag(),
            dead_letters={topic.name: await self._log.depth(topic.dead_letters) for topic in ALL},
            tables=await self._store.sizes(),
            log_bytes=await asyncio.to_thread(lambda: self._log.nbytes),
            free_bytes=self._free(),
            cache=self._cache.usage,
        )

    async def exposition(self) -> bytes:
        """The registry and one look, in Prometheus' text format."""
        measured = await self.look()
        return await asyncio.to_thread(_exposition, self._metrics.registry, measured)

    def _free(self) -> int | None:
        return None if self._folder is None else shutil.disk_usage(self._folder).free


def _progress(progress: Progress) -> Iterator[Trouble]:
    now = monotonic()
    for (stage, partition), wait in progress.waiting.items():
        if now - wait.since >= PATIENCE_SECONDS:
            since = now - wait.since
            yield Trouble(
                f"stage {stage}", f"partition {partition} fails for {since:.0f} s with {wait.error}"
            )
    for (stage, partition), began in progress.busy.items():
        if now - began >= STUCK_SECONDS and (stage, partition) not in progress.waiting:
            yield Trouble(
                f"stage {stage}", f"partition {partition} works on one batch for {now - began:.0f} s"
            )
    if progress.outdated is not None:
        yield Trouble("tables", progress.outdated)
    if (wait_ := progress.embedder) is not None:
        yield Trouble("embedder", f"does not answer for {now - wait_.since:.0f} s ({wait_.error})")


def _exposition(registry: CollectorRegistry, measured: Measured) -> bytes:
    looked = CollectorRegistry()
    looked.register(_Look(measured))
    return generate_latest(registry) + generate_latest(looked)


class _Look(Collector):
    """What was measured, as gauges."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def collect(self) -> Iterator[Metric]:
        """Every gauge."""
        seen = self._measured
        lag = _gauge("consumer_lag_records", "Records not yet handled.", "stage", "topic")
        for (group, topic), count in seen.lag.items():
            lag.add_metric([group.removeprefix("recollect."), topic], count)
        dead = _gauge("dead_letters", "Records that could not be handled.", "topic")
        for topic, count in seen.dead_letters.items():
            dead.add_metric([topic], count)
        yield from (lag, dead, *self._tables(), *self._cache())
        if seen.log_bytes is not None:
            yield _single("log_bytes", "The log on disk.", seen.log_bytes)
        if seen.free_bytes is not None:
            yield _single("disk_free_bytes", "Free space where the data is.", seen.free_bytes)

    def _tables(self) -> Iterator[Metric]:
        parts = {
            "rows": "Rows",
            "bytes": "Bytes on disk",
            "files": "Files on disk",
            "versions": "Versions kept",
        }
        for part, text in parts.items():
            gauge = _gauge(f"table_{part}", f"{text} of a table.", "table")
            for table, size in self._measured.tables.items():
                if (value := getattr(size, part)) is not None:
                    gauge.add_metric([table], value)
            yield gauge

    def _cache(self) -> Iterator[Metric]:
        usage = self._measured.cache
        yield _single("cache_bytes", "The hot index in memory.", usage.nbytes)
        yield _single("cache_namespaces", "Namespaces in the hot index.", usage.namespaces)
        yield _single(
            "cache_hits", "Searches that found their namespace in memory, since the start.", usage.hits
        )
        yield _single("cache_misses", "Searches that had to load it, since the start.", usage.misses)


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"recollect_{name}", text, labels=labels)


def _single(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"recollect_{name}", text, value=value)
