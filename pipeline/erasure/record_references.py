"""Rules: what a record of the log is about, so that a deletion finds it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.bus.port import TopicPartition
from pipeline.bus.records import SEALED_HEADER, ErasedRecordError, RawRecord, origin_position
from pipeline.erasure.deleted_content import DELETION_MARK, blobs_in, incarnation_of, is_deletion
from schemas import topics
from schemas.events import MemoriesForgotten

TOPICS: Mapping[str, topics.Topic[Any]] = {
    name: topic for topic in topics.CONTENT_TOPICS for name in (topic.name, topic.dead_letter_topic)
}
"""Topics with content and their dead letters, by name."""
_OF_A_DOCUMENT = frozenset({topics.DOCUMENTS_SUBMITTED, topics.DOCUMENTS_EXTRACTED, topics.DOCUMENTS_CHUNKED})
_MEMORIES_HEAD = re.compile(rb'\{"incarnation":"[^"\\]*","document":"([^"\\]*)"')


@dataclass(frozen=True, slots=True)
class RecordReferences:
    """A record, the documents (keys of their submissions) that it is about, and the blobs that it needs."""

    place: TopicPartition
    offset: int
    incarnation: str
    documents: frozenset[bytes]
    blobs: frozenset[str]
    deletes_before: int | None = None
    """Of a deletion: offset up to which the records of its document go. The deletion itself stays."""


def references_of(record: RawRecord) -> RecordReferences | None:
    """Return what a record of `TOPICS` is about; None if it is erased, or belongs to no incarnation.

    MissingKeyError if nobody can tell.
    """
    if b"#" not in record.key:
        return None
    topic, place = TOPICS[record.topic], (record.topic, record.partition)
    incarnation = incarnation_of(record.key)
    if _deletes(topic, record):
        _, before = origin_position(record)
        return RecordReferences(place, record.offset, incarnation, frozenset((record.key,)), frozenset(), before)
    if topic not in _OF_A_DOCUMENT and topic is not topics.MEMORIES_FORMED and topic is not topics.MEMORIES_FORGOTTEN:
        return RecordReferences(place, record.offset, incarnation, frozenset(), frozenset())
    content = record.content_if_readable
    if not content and SEALED_HEADER in record.headers and _is_erased(record):
        return None
    return RecordReferences(
        place, record.offset, incarnation, _documents(topic, record.key, content), frozenset(blobs_in(content))
    )


def _deletes(topic: topics.Topic[Any], record: RawRecord) -> bool:
    is_candidate = topic is topics.DOCUMENTS_SUBMITTED and SEALED_HEADER not in record.headers
    return is_candidate and DELETION_MARK in record.value and is_deletion(record)


def _is_erased(record: RawRecord) -> bool:
    try:
        return not record.content
    except ErasedRecordError:
        return True


def _documents(topic: topics.Topic[Any], key: bytes, content: bytes) -> frozenset[bytes]:
    if topic in _OF_A_DOCUMENT:
        return frozenset((key,))
    if topic is topics.MEMORIES_FORMED and (head := _MEMORIES_HEAD.match(content)):
        return frozenset((key + b"/" + head[1],))
    try:
        event = topic.event_type.model_validate_json(content)
    except ValueError:
        return frozenset()
    if isinstance(event, MemoriesForgotten):
        return frozenset(key + b"/" + name.encode() for sources in event.sources.values() for name in sources)
    return frozenset((key + b"/" + event.document.encode(),))
