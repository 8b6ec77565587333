"""What happened, counted: histograms and counters of Prometheus, in a registry that is passed as a value.

What *is* at the moment of a scrape (lag, sizes) is measured then: see `pipeline.measuring`.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from prometheus_client import CollectorRegistry, Counter, GCCollector, Histogram, ProcessCollector

from pipeline.ports import Spent
from pipeline.stage import Record

P = ParamSpec("P")
T = TypeVar("T")

QUICK = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds, for what somebody waits for."""
SLOW = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds, for what happens behind the answer."""
_MILESTONES = {"embed": "found", "relate": "remembered"}
"""The stages after which a document can be found, and its memories."""


@dataclass(slots=True)
class Wait:
    """Something fails and is tried again: since when (monotonic seconds), and with which kind of error."""

    since: float
    error: str


@dataclass(slots=True)
class Progress:
    """What is under way now, for readiness. Keys are a stage and a partition."""

    busy: dict[tuple[str, int], float] = field(default_factory=dict)
    """Since when a batch is being handled, in monotonic seconds."""
    waiting: dict[tuple[str, int], Wait] = field(default_factory=dict)
    embedder: Wait | None = None
    outdated: str | None = None
    """Why this process does not serve the tables that others serve by now."""


class Metrics:
    """Counters and histograms of one process. Implements `pipeline.delivery.Observer`."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.progress = Progress()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._requests = self._counter("http_requests", "Requests answered.", "method", "route", "status")
        self._answers = self._histogram(
            "http_request_seconds", "Request to end of the answer.", QUICK, "method", "route"
        )
        self._search = self._histogram("search_seconds", "Searches, without HTTP.", QUICK)
        self._ingest = self._histogram(
            "ingest_seconds", "Accepted until found, or until remembered.", SLOW, "until"
        )
        self._batches = self._histogram("stage_batch_seconds", "A stage's work on a batch.", SLOW, "stage")
        self._records = self._counter("stage_records", "Records a stage is done with.", "stage", "outcome")
        self._retries = self._counter("stage_retries", "Times a stage had to try again.", "stage")
        self._embedding = self._histogram("embedder_seconds", "Calls of the embedder.", QUICK, "call")
        self._unembedded = self._counter("embedder_failures", "Calls of the embedder that failed.", "call")
        self._questions = self._counter("model_questions", "Questions to the language model.", "outcome")
        self._tokens = self._counter("model_tokens", "Tokens of questions and answers.", "direction")
        self._thinking = self._histogram("model_seconds", "Answers of the language model.", SLOW)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"recollect_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"recollect_{name}", text, labels, buckets=buckets, registry=self.registry)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request; `route` is its pattern, not its path."""
        self._requests.labels(method, route, str(status)).inc()
        self._answers.labels(method, route).observe(seconds)

    def searching(self, search: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        """The same function, timed."""

        async def timed(*args: P.args, **kwargs: P.kwargs) -> T:
            with self._search.time():
                return await search(*args, **kwargs)

        return timed

    def embedded(self, call: str, seconds: float, error: Exception | None) -> None:
        """A call of the embedder (`documents` or `query`)."""
        self._embedding.labels(call).observe(seconds)
        if error is None:
            self.progress.embedder = None
        else:
            self._unembedded.labels(call).inc()
            before = self.progress.embedder
            self.progress.embedder = Wait(before.since if before else monotonic(), type(error).__name__)

    def asked(self, outcome: str, spent: Spent) -> None:
        """A question to the language model: `formed`, `unusable` or `away`."""
        self._questions.labels(outcome).inc()
        self._tokens.labels("input").inc(spent.input_tokens)
        self._tokens.labels("output").inc(spent.output_tokens)
        if spent.calls:
            self._thinking.observe(spent.seconds)

    def began(self, stage: str, partition: int) -> None:
        """A batch was handed to a stage."""
        self.progress.busy[stage, partition] = monotonic()

    def ended(self, stage: str, partition: int) -> None:
        """It is done with, or was given up."""
        self.progress.busy.pop((stage, partition), None)
        self.progress.waiting.pop((stage, partition), None)

    def waits(self, stage: str, partition: int, error: Exception) -> None:
        """It failed and will be tried again."""
        self._retries.labels(stage).inc()
        known = self.progress.waiting.get((stage, partition))
        since = known.since if known else monotonic()
        self.progress.waiting[stage, partition] = Wait(since, type(error).__name__)

    def handled(self, stage: str, records: Sequence[Record[Any]], seconds: float, now: datetime) -> None:
        """These were handled together in so many seconds."""
        self._records.labels(stage, "handled").inc(len(records))
        self._batches.labels(stage).observe(seconds)
        if (milestone := _MILESTONES.get(stage)) is not None:
            ingest = self._ingest.labels(milestone)
            for record in records:
                if not record.redriven:
                    ingest.observe(max(0.0, (now - record.event.at).total_seconds()))

    def parked(self, stage: str) -> None:
        """A record became a dead letter."""
        self._records.labels(stage, "parked").inc()
