"""Sources of a feed: a topic each, and the stages that must have handled a record before it is sent."""

from dataclasses import dataclass
from typing import Any

from schemas.topics import (
    DOCUMENTS_CHUNKED,
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORGOTTEN,
    MEMORIES_FORMED,
    Topic,
)


@dataclass(frozen=True, slots=True)
class FeedSource:
    """Records of a topic, each after these stages have handled it and what they made of it.

    `stages`: name and source topic, in the order of the pipeline; empty: as soon as the record is in the log.
    """

    name: str
    topic: Topic[Any]
    stages: tuple[tuple[str, Topic[Any]], ...] = ()


SUBMITTED = FeedSource("submitted", DOCUMENTS_SUBMITTED)
EXTRACTED = FeedSource("extracted", DOCUMENTS_EXTRACTED)
PROCESSED = FeedSource(
    "processed",
    DOCUMENTS_SUBMITTED,
    (("extract", DOCUMENTS_SUBMITTED), ("chunk", DOCUMENTS_EXTRACTED), ("embed", DOCUMENTS_CHUNKED)),
)
FORMED = FeedSource("formed", MEMORIES_FORMED, (("project_memories", MEMORIES_FORMED),))
FORGOTTEN = FeedSource("forgotten", MEMORIES_FORGOTTEN, (("forget_memories", MEMORIES_FORGOTTEN),))
FEED_SOURCES = (SUBMITTED, EXTRACTED, PROCESSED, FORMED, FORGOTTEN)
"""In the order in which events of one moment are sent."""
SOURCE_NAMES = tuple(source.name for source in FEED_SOURCES)
