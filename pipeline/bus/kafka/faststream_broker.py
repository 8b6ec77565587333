"""FastStream broker with the middlewares for metrics and tracing."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from faststream.kafka import KafkaBroker

from pipeline.bus.kafka.cluster import PRODUCER_OPTIONS, Cluster, milliseconds

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from prometheus_client import CollectorRegistry

log = logging.getLogger(__name__)


def new_broker(cluster: Cluster, middlewares: Sequence[Any], *, consumer_only: bool = False) -> KafkaBroker:
    """Create a broker that is not connected yet."""
    return KafkaBroker(
        cluster.servers,
        client_id=cluster.client_id,
        security=cluster.security,
        request_timeout_ms=milliseconds(cluster.call_timeout),
        consumer_only=consumer_only,
        middlewares=middlewares,
        apply_types=False,
        id_generator=_correlation_ids(cluster.client_id),
        logger=_FastStreamLogger(),
        log_level=logging.DEBUG,
        **PRODUCER_OPTIONS,
    )


def _correlation_ids(prefix: str) -> Callable[[], str]:
    """Return a function that numbers records: a random id for each costs as much as sending it."""
    numbers = count()
    return lambda: f"{prefix}-{next(numbers)}"


def broker_middlewares(registry: "CollectorRegistry | None", tracer_provider: "TracerProvider | None") -> list[Any]:
    """Create FastStream's middlewares for metrics and tracing, as far as each is wanted."""
    middlewares: list[Any] = []
    if registry is not None:
        from faststream.kafka.prometheus import KafkaPrometheusMiddleware  # noqa: PLC0415 - only if used

        middlewares.append(KafkaPrometheusMiddleware(registry=registry, app_name="recollect"))
    if tracer_provider is not None:
        from faststream.kafka.opentelemetry import KafkaTelemetryMiddleware  # noqa: PLC0415 - only if used

        middlewares.append(KafkaTelemetryMiddleware(tracer_provider=tracer_provider))
    return middlewares


class _FastStreamLogger:
    """Logger of FastStream, without its warning about topic creation: topics are created before.

    Its information (partitions assigned, callbacks at the end) is for debugging. A batch that is cancelled is no
    error: a rebalance took its partition, or the process ends.
    """

    def log(self, level: int, msg: Any, /, *, exc_info: Any = None, extra: Any = None) -> None:
        if isinstance(exc_info, asyncio.CancelledError):
            level, exc_info = logging.DEBUG, None
        elif level == logging.INFO:
            level = logging.DEBUG
        if not str(msg).startswith("Topic creation is skipped"):
            log.log(level, "%s", msg, exc_info=exc_info, extra=extra)
