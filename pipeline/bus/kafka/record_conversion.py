"""Conversion of Kafka's records and their keys.

A record's key on Kafka is the key of the event, a zero byte and random characters: no two records share one, so a
tombstone (a record with the same key and no value) removes a single record when the broker compacts its partition.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from os import urandom

from aiokafka import ConsumerRecord

from pipeline.bus.records import RawRecord

_RANDOM_BYTES = 12
_SUFFIX_LENGTH = 1 + _RANDOM_BYTES * 4 // 3


def unique_key(key: bytes) -> bytes:
    """Return a key that no other record has.

    >>> event_key(unique_key(b"home#0/diary"))
    b'home#0/diary'
    """
    return key + b"\0" + urlsafe_b64encode(urandom(_RANDOM_BYTES))


def is_unique_key(key: bytes) -> bool:
    """Tell whether `unique_key` made this key.

    >>> is_unique_key(unique_key(b"home#0")), is_unique_key(b"home#0")
    (True, False)
    """
    return key[-_SUFFIX_LENGTH:][:1] == b"\0" and len(key) >= _SUFFIX_LENGTH


def event_key(key: bytes) -> bytes:
    """Return the key of the event, which chose the partition."""
    return key[:-_SUFFIX_LENGTH] if is_unique_key(key) else key


def to_raw_records(records: Iterable[ConsumerRecord]) -> list[RawRecord]:
    """Convert records, without tombstones: each stands for an erased record."""
    return [to_raw_record(record) for record in records if record.value is not None]


def to_raw_record(record: ConsumerRecord) -> RawRecord:
    """Convert a record; bytes of a header that are not UTF-8 become lone surrogates."""
    return RawRecord(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=event_key(record.key or b""),
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
