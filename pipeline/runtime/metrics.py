"""Prometheus counters and histograms of one process, in a registry that is passed as a value.

Gauges (lag, sizes) are measured at scrape time by `pipeline.health`.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any

from prometheus_client import CollectorRegistry, Counter, GCCollector, Histogram, ProcessCollector

from pipeline.ports import TokenUsage
from pipeline.stage import Record

REQUEST_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Histogram buckets in seconds for work that a client waits for."""
BACKGROUND_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Histogram buckets in seconds for background work."""
_INGEST_MILESTONES = {"index": "found", "embed": "embedded", "project_memories": "remembered"}
"""Stages after which a document can be found by its words, by its meaning, and its memories can be found."""


@dataclass(slots=True)
class OngoingFailure:
    """A failure being retried: its start (monotonic seconds) and the type of the last error."""

    since: float
    error: str


@dataclass(slots=True)
class ReadinessState:
    """Batches and failures in progress, for the readiness probe. Keys are (stage, partition)."""

    batches_in_progress: dict[tuple[str, int], float] = field(default_factory=dict)
    """Start of each batch being handled, in monotonic seconds."""
    retrying: dict[tuple[str, int], OngoingFailure] = field(default_factory=dict)
    embedder_failure: OngoingFailure | None = None
    stale_generation: str | None = None
    """Reason why this process could not open the active generation of tables; None: it has."""


class Metrics:
    """Counters and histograms of one process. Implements `pipeline.bus.observer.Observer`."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.readiness = ReadinessState()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._requests = self._counter("http_requests", "Requests answered.", "method", "route", "status")
        self._request_seconds = self._histogram(
            "http_request_seconds", "Request to end of the answer.", REQUEST_BUCKETS, "method", "route"
        )
        self._search_seconds = self._histogram("search_seconds", "Searches, without HTTP.", REQUEST_BUCKETS)
        self._ingest_seconds = self._histogram(
            "ingest_seconds", "Accepted until found, or until remembered.", BACKGROUND_BUCKETS, "until"
        )
        self._batch_seconds = self._histogram(
            "stage_batch_seconds", "A stage's work on a batch.", BACKGROUND_BUCKETS, "stage"
        )
        self._stage_records = self._counter("stage_records", "Records a stage is done with.", "stage", "outcome")
        self._stage_retries = self._counter("stage_retries", "Times a stage had to try again.", "stage")
        self._embedder_seconds = self._histogram("embedder_seconds", "Calls of the embedder.", REQUEST_BUCKETS, "call")
        self._embedder_failures = self._counter("embedder_failures", "Calls of the embedder that failed.", "call")
        self._model_requests = self._counter("model_requests", "Questions to the language model.", "outcome")
        self._model_documents = self._counter("model_documents", "Documents that the language model was asked about.")
        self._model_memories = self._counter("model_memories", "Memories in answers, kept or left out.", "result")
        self._model_tokens = self._counter("model_tokens", "Tokens of questions and answers.", "direction")
        self._model_seconds = self._histogram("model_seconds", "Answers of the language model.", BACKGROUND_BUCKETS)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"recollect_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"recollect_{name}", text, labels, buckets=buckets, registry=self.registry)

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is its pattern, not its path."""
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def time_search(self) -> AbstractContextManager[object]:
        """Return a context whose duration is that of a search."""
        return self._search_seconds.time()

    def search_buckets(self) -> dict[float, int]:
        """Return how many searches since the start took at most so many seconds, by bucket."""
        (family,) = self._search_seconds.collect()
        samples = (sample for sample in family.samples if sample.name.endswith("_bucket"))
        return {float(sample.labels["le"]): int(sample.value) for sample in samples}

    def observe_embedding(self, call: str, seconds: float, error: Exception | None) -> None:
        """Count a call of the embedder: `documents` or `query`."""
        self._embedder_seconds.labels(call).observe(seconds)
        if error is None:
            self.readiness.embedder_failure = None
        else:
            self._embedder_failures.labels(call).inc()
            ongoing = self.readiness.embedder_failure
            since = ongoing.since if ongoing else monotonic()
            self.readiness.embedder_failure = OngoingFailure(since, type(error).__name__)

    def observe_model_call(self, outcome: str, usage: TokenUsage, documents: int) -> None:
        """Count a call of the language model; `outcome` is `formed`, `unusable` or `unavailable`."""
        self._model_documents.inc(documents)
        self._model_requests.labels(outcome).inc()
        self._model_tokens.labels("input").inc(usage.input_tokens)
        self._model_tokens.labels("output").inc(usage.output_tokens)
        if usage.calls:
            self._model_seconds.observe(usage.seconds)

    def observe_model_items(self, kept: int, rejected: Mapping[str, int]) -> None:
        """Count the memories of an answer: those kept, and those left out by reason."""
        self._model_memories.labels("kept").inc(kept)
        for reason, count in rejected.items():
            self._model_memories.labels(reason).inc(count)

    def on_batch_start(self, stage: str, partition: int) -> None:
        self.readiness.batches_in_progress[stage, partition] = monotonic()

    def on_batch_end(self, stage: str, partition: int) -> None:
        """Record that a batch was handled or failed for good."""
        self.readiness.batches_in_progress.pop((stage, partition), None)
        self.readiness.retrying.pop((stage, partition), None)

    def on_retry(self, stage: str, partition: int, error: Exception) -> None:
        """Count a failed attempt that will be repeated."""
        self._stage_retries.labels(stage).inc()
        ongoing = self.readiness.retrying.get((stage, partition))
        since = ongoing.since if ongoing else monotonic()
        self.readiness.retrying[stage, partition] = OngoingFailure(since, type(error).__name__)

    def on_batch_handled(self, stage: str, records: Sequence[Record[Any]], seconds: float, now: datetime) -> None:
        """Count the records of a batch and observe its duration in seconds."""
        self._stage_records.labels(stage, "handled").inc(len(records))
        self._batch_seconds.labels(stage).observe(seconds)
        if (milestone := _INGEST_MILESTONES.get(stage)) is not None:
            ingest = self._ingest_seconds.labels(milestone)
            for record in records:
                if not record.redriven:
                    ingest.observe(max(0.0, (now - record.event.at).total_seconds()))

    def on_erased(self, stage: str) -> None:
        """Count a record whose key was destroyed."""
        self._stage_records.labels(stage, "erased").inc()

    def on_dead_letter(self, stage: str) -> None:
        self._stage_records.labels(stage, "dead_lettered").inc()
