"""FastStream subscriber with its polling and dispatching replaced.

FastStream polls, handles and commits one batch after another: a slow partition would hold up all others, and a
batch longer than the poll interval would cost the member its partitions. `open_subscriber` replaces two methods
of the subscriber, `get_msg` (poll) and `consume_one` (handle a poll's result), so that polling goes on while
partitions are handled concurrently. Batches still pass through FastStream's message pipeline, in
`process_message`, which gives the Prometheus metrics and OpenTelemetry spans of its middlewares.

The two methods are not part of FastStream's documented interface. Its version is pinned, and the contract suite
of the buses and `tests/pipeline/bus/kafka/test_consumer_group.py` fail if they change. There is no switch:
neither FastStream's batch loop nor its concurrent subscribers, which handle single records, keep partitions
independent in batches.
"""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.abc import ConsumerRebalanceListener
from faststream.kafka import KafkaBroker
from faststream.kafka import Topic as KafkaTopic
from faststream.kafka.subscriber.usecase import BatchSubscriber
from faststream.message import StreamMessage
from faststream.middlewares import AckPolicy

from pipeline.bus.kafka.cluster import CONSUMER_LOOP_SECONDS, milliseconds
from pipeline.bus.kafka.record_conversion import has_utf8_headers, to_raw_records
from pipeline.bus.kafka.shard_assignor import shard_assignor
from pipeline.bus.records import RawRecord

ConsumerRecords = tuple[ConsumerRecord, ...]
HEARTBEATS_PER_SESSION = 10
"""Heartbeats per session timeout: the member survives the loss of all but one."""


def open_subscriber(
    broker: KafkaBroker,
    topic: str,
    group: str,
    *,
    shards: int,
    session_timeout: float,
    listener: ConsumerRebalanceListener,
    poll: Callable[[AIOKafkaConsumer], Coroutine[Any, Any, ConsumerRecords]],
    dispatch: Callable[[ConsumerRecords], Coroutine[Any, Any, None]],
    handle: Callable[[list[RawRecord]], Awaitable[None]],
) -> BatchSubscriber:
    """Create a subscriber that gets records from `poll` and passes them to `dispatch`.

    `handle` is called by `process_message`, inside the middlewares. `shards`: those of the tables that it fills.
    `session_timeout` in seconds.
    """
    subscriber = broker.subscriber(
        KafkaTopic(topic, declare=False),
        batch=True,
        group_id=group,
        auto_offset_reset="earliest",
        ack_policy=AckPolicy.MANUAL,
        partition_assignment_strategy=[shard_assignor(shards)],
        session_timeout_ms=milliseconds(session_timeout),
        rebalance_timeout_ms=milliseconds(session_timeout),
        heartbeat_interval_ms=milliseconds(session_timeout / HEARTBEATS_PER_SESSION),
        consumer_timeout_ms=milliseconds(CONSUMER_LOOP_SECONDS),
        listener=listener,
        parser=_parse_message,
        decoder=_decode_message,
        persistent=False,
        no_reply=True,
    )
    subscriber(handle)
    subscriber.get_msg = poll  # type: ignore[assignment, method-assign]  # see the module's docstring
    subscriber.consume_one = dispatch  # type: ignore[assignment, method-assign]  # see the module's docstring
    return subscriber


async def _parse_message(message: ConsumerRecords, original: Any) -> StreamMessage[ConsumerRecords]:
    """Parse without headers that FastStream can't decode as UTF-8; `decode` reports them later."""
    parsed: StreamMessage[ConsumerRecords] = await original(
        tuple(record if has_utf8_headers(record) else replace(record, headers=()) for record in message)
    )
    parsed.raw_message = message
    return parsed


async def _decode_message(message: StreamMessage[ConsumerRecords]) -> list[RawRecord]:
    return to_raw_records(message.raw_message)
