"""AsyncAPI document of the log: topics, event schemas, and the stages that read them."""

from collections.abc import Sequence
from typing import Any

from faststream.kafka import KafkaBroker
from faststream.specification import AsyncAPI

from pipeline.stage import Stage
from schemas.base import Event
from schemas.topics import Topic

EXAMPLE_SERVER = "localhost:9092"
"""Server in the document, which is the same for every deployment."""


def build_document(topics: Sequence[Topic[Any]], stages: Sequence[Stage[Any]], version: str) -> dict[str, Any]:
    """Build an AsyncAPI 3.0 document. Channels are named after topics if sent, after stages if received."""
    broker = KafkaBroker(EXAMPLE_SERVER, apply_types=False)
    for topic in topics:
        broker.publisher(
            topic.name, title=topic.name, schema=topic.event_type, description=_description_of(topic.event_type)
        )
    for stage in stages:
        subscriber = broker.subscriber(
            stage.source.name,
            group_id=stage.group,
            title=stage.name,
            description=f"The stage `{stage.name}`, consumer group `{stage.group}`.",
        )
        subscriber(_consumer_stub(stage.source.event_type))
    specification = AsyncAPI(
        broker,
        title="recollect",
        version=version,
        description="What recollect writes to its log: Kafka, or the embedded one with the same records.",
    )
    document: dict[str, Any] = specification.to_specification().to_jsonable()
    return document


def _consumer_stub(event: type[Event]) -> Any:
    async def read(record: Event) -> None:
        """Do nothing; only the annotation of the record is used."""

    read.__annotations__["record"] = event
    return read


def _description_of(event: type[Event]) -> str:
    return " ".join((event.__doc__ or "").split())
