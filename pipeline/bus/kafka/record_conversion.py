"""Conversion of Kafka's records."""

from datetime import UTC, datetime

from aiokafka import ConsumerRecord

from pipeline.bus.records import RawRecord


def to_raw_record(record: ConsumerRecord) -> RawRecord:
    """Convert a record; bytes of a header that are not UTF-8 become lone surrogates."""
    return RawRecord(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key or b"",
        value=record.value or b"",
        headers={name: _header_text(value) for name, value in record.headers},
        timestamp=datetime.fromtimestamp(record.timestamp / 1000, UTC),
    )


def _header_text(value: bytes | None) -> str:
    return (value or b"").decode(errors="surrogateescape")


def has_utf8_headers(record: ConsumerRecord) -> bool:
    """Tell whether every header has a value in UTF-8."""
    try:
        return all(value is not None and value.decode() is not None for _, value in record.headers)
    except UnicodeDecodeError:
        return False
