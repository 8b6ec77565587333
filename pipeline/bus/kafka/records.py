"""Kafka's records as ours."""

from datetime import UTC, datetime

from aiokafka import ConsumerRecord

from pipeline.records import RawRecord


def raw(record: ConsumerRecord) -> RawRecord:
    """As it is: a header that is no UTF-8 keeps its bytes as lone surrogates."""
    return RawRecord(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key or b"",
        value=record.value or b"",
        headers={name: _text(value) for name, value in record.headers},
        at=datetime.fromtimestamp(record.timestamp / 1000, UTC),
    )


def _text(value: bytes | None) -> str:
    return (value or b"").decode(errors="surrogateescape")


def legible(record: ConsumerRecord) -> bool:
    """Whether every header has a value and is UTF-8."""
    try:
        return all(value is not None and value.decode() is not None for _, value in record.headers)
    except UnicodeDecodeError:
        return False
