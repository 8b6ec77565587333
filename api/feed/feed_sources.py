"""Sources of a feed: a topic each, and the stages that must have handled a record before it is sent."""

from dataclasses import dataclass
from typing import Any

from schemas import topics


@dataclass(frozen=True, slots=True)
class FeedSource:
    """Records of a topic, each after these stages have handled it and what they made of it.

    `stages`: name and source topic, in the order of the pipeline; empty: as soon as the record is in the log.
    """

    name: str
    topic: topics.Topic[Any]
    stages: tuple[tuple[str, topics.Topic[Any]], ...] = ()


SUBMITTED = FeedSource("submitted", topics.DOCUMENTS_SUBMITTED)
EXTRACTED = FeedSource("extracted", topics.DOCUMENTS_EXTRACTED)
PROCESSED = FeedSource(
    "processed",
    topics.DOCUMENTS_SUBMITTED,
    (
        ("extract", topics.DOCUMENTS_SUBMITTED),
        ("chunk", topics.DOCUMENTS_EXTRACTED),
        ("embed", topics.DOCUMENTS_CHUNKED),
    ),
)
FORMED = FeedSource("formed", topics.MEMORIES_FORMED, (("project_memories", topics.MEMORIES_FORMED),))
FORGOTTEN = FeedSource("forgotten", topics.MEMORIES_FORGOTTEN, (("forget_memories", topics.MEMORIES_FORGOTTEN),))
FEED_SOURCES = (SUBMITTED, EXTRACTED, PROCESSED, FORMED, FORGOTTEN)
"""In the order in which events of one moment are sent."""
SOURCE_NAMES = tuple(source.name for source in FEED_SOURCES)
