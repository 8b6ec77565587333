"""Reconnects of aiokafka's clients: paced, and told once an outage rather than once an attempt.

While a broker refuses connections, each client of a process tries several times in each `retry_backoff_ms`, and logs
each attempt three times. Neither pace nor logging can be set, and FastStream makes some of the clients, so
`quiet_reconnects` replaces the function by which all of them connect, and wraps the one by which they send. These are
not part of aiokafka's documented interface: its version is pinned, and `tests/pipeline/bus/kafka/test_reconnects.py`
fails if they change. `RECOLLECT_KAFKA_PACED_RECONNECTS=false` leaves aiokafka as it is.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from time import monotonic
from typing import Any

from aiokafka import client, conn
from aiokafka.errors import KafkaConnectionError, KafkaError, NodeNotReadyError, RequestTimedOutError

from pipeline.errors import reason_of

FIRST_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 1.0
"""Bounds of the pause between two rounds of attempts; it doubles from round to round."""
REPORT_SECONDS = 30.0
"""Time between two lines about the same outage, and between two equal lines of aiokafka."""
MAX_REMEMBERED_LINES = 1000
LIBRARY_LOGGERS = (
    "aiokafka",
    "aiokafka.cluster",
    "aiokafka.conn",
    "aiokafka.consumer.fetcher",
    "aiokafka.consumer.group_coordinator",
    "aiokafka.producer.sender",
)
"""Loggers that tell of a broker that does not answer."""
_ATTEMPT_MESSAGES = ("Unable connect to", "Unable to update metadata from", "Marking the coordinator dead")
_ATTEMPT_ERRORS = (OSError, KafkaConnectionError, NodeNotReadyError)

log = logging.getLogger(__name__)


def quiet_reconnects() -> None:
    """Pace the reconnects of all clients of this process, and filter their log lines; repeated calls change nothing.

    Also keep their fetching alive when a request and its connection end at once, or when uvloop has closed the
    connection that a request is written to.
    """
    if isinstance(client.create_conn, PacedConnect):
        return
    client.create_conn = PacedConnect(client.create_conn)
    for name in ("send", "_send_sasl_token"):
        setattr(
            conn.AIOKafkaConnection, name, _with_closed_transports_as_errors(getattr(conn.AIOKafkaConnection, name))
        )
    client.AIOKafkaClient.send = _with_lost_connections_as_timeouts(client.AIOKafkaClient.send)
    log_filter = RepetitionFilter()
    for name in LIBRARY_LOGGERS:
        logging.getLogger(name).addFilter(log_filter)


def _with_lost_connections_as_timeouts(send: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Raise RequestTimedOutError where a request times out whose connection another one has given up already.

    aiokafka raises KeyError there, which ends the task that fetches for a consumer: it would wait for records for ever.
    """

    @wraps(send)
    async def send_or_time_out(*args: Any, **options: Any) -> Any:
        try:
            return await send(*args, **options)
        except KeyError as error:
            raise RequestTimedOutError from error

    return send_or_time_out


def _with_closed_transports_as_errors(send: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Raise KafkaConnectionError where the transport is closed, but its reader has not noticed yet.

    uvloop's transports raise RuntimeError there, which ends aiokafka's tasks that send and fetch.
    """

    @wraps(send)
    def send_unless_closed(connection: conn.AIOKafkaConnection, *args: Any, **options: Any) -> Awaitable[Any]:
        writer = connection._writer  # noqa: SLF001 - aiokafka has no other way
        if writer is not None and writer.transport.is_closing():
            connection.close(reason=conn.CloseReason.CONNECTION_BROKEN)
            raise KafkaConnectionError(f"The connection to {connection.host}:{connection.port} was closed.")
        return send(connection, *args, **options)

    return send_unless_closed


@dataclass(slots=True)
class _Outage:
    began_at: float
    reported_at: float
    retry_at: float
    pause: float = FIRST_PAUSE_SECONDS


class PacedConnect:
    """Connects to brokers: after a failure all attempts for the same broker wait for the same moment."""

    def __init__(
        self,
        connect: Callable[..., Awaitable[Any]],
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._sleep = sleep
        self._outages: dict[str, _Outage] = {}

    async def __call__(self, host: str, port: int, **options: Any) -> Any:
        """Connect as `aiokafka.conn.create_conn`."""
        broker = f"{host}:{port}"
        if (outage := self._outages.get(broker)) and (pause := outage.retry_at - self._clock()) > 0:
            await self._sleep(pause)
        try:
            connection = await self._connect(host, port, **options)
        except (OSError, KafkaError) as error:
            self._record_failure(broker, error)
            raise
        if ended := self._outages.pop(broker, None):
            log.info("Kafka broker %s answers again, after %.0f s.", broker, self._clock() - ended.began_at)
        return connection

    def _record_failure(self, broker: str, error: Exception) -> None:
        now = self._clock()
        outage = self._outages.get(broker)
        if outage is None:
            self._outages[broker] = _Outage(now, now, now + FIRST_PAUSE_SECONDS)
            log.warning("Kafka broker %s can't be reached and is tried again: %s", broker, reason_of(error))
            return
        if now >= outage.retry_at:  # else another client failed in the same round
            outage.pause = min(2 * outage.pause, MAX_PAUSE_SECONDS)
            outage.retry_at = now + outage.pause
        if now - outage.reported_at >= REPORT_SECONDS:
            outage.reported_at = now
            log.warning(
                "Kafka broker %s can't be reached for %.0f s and is tried again: %s",
                broker,
                now - outage.began_at,
                reason_of(error),
            )


class RepetitionFilter(logging.Filter):
    """Drops lines about attempts that `PacedConnect` reports, and lines that were logged a moment ago."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._logged: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether the line is logged."""
        if _tells_of_attempt(record):
            return False
        now, line = self._clock(), record.getMessage()
        if now - self._logged.get(line, -REPORT_SECONDS) < REPORT_SECONDS:
            return False
        if len(self._logged) >= MAX_REMEMBERED_LINES:
            self._logged.clear()
        self._logged[line] = now
        return True


def _tells_of_attempt(record: logging.LogRecord) -> bool:
    values = record.args if isinstance(record.args, tuple) else ()
    return str(record.msg).startswith(_ATTEMPT_MESSAGES) or any(isinstance(value, _ATTEMPT_ERRORS) for value in values)
