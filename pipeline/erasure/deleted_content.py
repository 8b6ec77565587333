"""Rules that select the records of the log that only deleted documents and namespaces need."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.bus.records import ErasedRecordError, MissingKeyError, RawRecord, origin_position
from schemas import topics
from schemas.topics import E

DELETION_MARK = b'"operation":"delete"'
"""Bytes in every deletion, and in few other small submissions: a filter, not a proof."""
_BLOB_PATTERN = re.compile(rb'"sha256":"([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class DeletedContent:
    """Deleted documents and namespaces. `deletions`: offset of the newest deletion by record key of the document."""

    deletions: Mapping[bytes, int]
    is_owned: Callable[[str], bool]
    """True for incarnations of namespaces that exist."""
    fresh: Collection[bytes]
    """Keys of the deletions whose records are still to be erased."""
    _incarnations: Collection[bytes] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_incarnations", {key.partition(b"/")[0] for key in self.fresh})

    def may_cover(self, key: bytes) -> bool:
        """Return whether, by its key alone, a record may have to be erased."""
        return key in self.fresh or key in self._incarnations or self._is_unowned(key)

    def covers(self, topic: topics.Topic[Any], record: RawRecord) -> bool:
        """Return whether a record of the topic, or a dead letter of one, must be erased. Deletions themselves stay."""
        if self._is_unowned(record.key):
            return True
        if topic is topics.DOCUMENTS_SUBMITTED:
            _, offset = origin_position(record)
            return self._is_deleted(record.key, offset)
        try:
            event = _decode(topic, record)
        except ErasedRecordError:
            return True  # an erasure destroyed its key and was interrupted
        if event is None:
            # A record that nobody can read: a dead letter. Its key tells whose it is.
            return record.key in self.deletions
        return self._covers_event(topic, record.key, event)

    def _covers_event(self, topic: topics.Topic[Any], key: bytes, event: Any) -> bool:
        if topic is topics.DOCUMENTS_EXTRACTED or topic is topics.DOCUMENTS_CHUNKED:
            return self._is_deleted(key, event.seq)
        if topic is topics.MEMORIES_FORMED:
            return self._is_deleted(key + b"/" + event.document.encode(), event.seq)
        if topic is topics.MEMORIES_FORGOTTEN:
            sources = [source for sources in event.sources.values() for source in sources.items()]
            return bool(sources) and all(self._is_deleted(key + b"/" + name.encode(), seq) for name, seq in sources)
        return False

    def _is_unowned(self, key: bytes) -> bool:
        # Records with another kind of key are damaged, and the operator's business.
        return b"#" in key and not self.is_owned(incarnation_of(key))

    def _is_deleted(self, document: bytes, seq: int) -> bool:
        return seq < self.deletions.get(document, 0)


def incarnation_of(key: bytes) -> str:
    return key.partition(b"/")[0].decode(errors="replace")


def is_deletion(record: RawRecord) -> bool:
    """Return whether a submission deletes its document."""
    try:
        event = _decode(topics.DOCUMENTS_SUBMITTED, record)
    except ErasedRecordError:
        return False
    return event is not None and event.operation == "delete"


def blobs_in(value: bytes) -> set[str]:
    """Return the digests of the blobs that a record's value refers to.

    >>> sorted(blobs_in(b'{"blob":{"sha256":"' + b"a" * 64 + b'","size":1}}')) == ["a" * 64]
    True
    """
    return {digest.decode() for digest in _BLOB_PATTERN.findall(value)}


def _decode(topic: topics.Topic[E], record: RawRecord) -> E | None:
    """Decode an event; None if nobody can read it. ErasedRecordError, MissingKeyError."""
    try:
        return topic.event_type.model_validate_json(record.content)
    except (ErasedRecordError, MissingKeyError):
        raise
    except ValueError:
        return None
