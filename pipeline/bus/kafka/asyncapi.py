"""The AsyncAPI document of the log: what is on which topic, and which stage reads it."""

from collections.abc import Sequence
from typing import Any

from faststream.kafka import KafkaBroker
from faststream.specification import AsyncAPI

from pipeline.stage import Stage
from schemas.base import Event
from schemas.topics import Topic

SERVER = "localhost:9092"
"""An example: the document is the same for every deployment."""


def document(topics: Sequence[Topic[Any]], stages: Sequence[Stage[Any]], version: str) -> dict[str, Any]:
    """AsyncAPI 3.0. Channels are named after topics where sent, and after stages where received."""
    broker = KafkaBroker(SERVER, apply_types=False)
    for topic in topics:
        broker.publisher(topic.name, title=topic.name, schema=topic.event, description=_about(topic.event))
    for stage in stages:
        subscriber = broker.subscriber(
            stage.source.name,
            group_id=stage.group,
            title=stage.name,
            description=f"The stage `{stage.name}`, consumer group `{stage.group}`.",
        )
        subscriber(_reading(stage.source.event))
    specification = AsyncAPI(
        broker,
        title="recollect",
        version=version,
        description="What recollect writes to its log: Kafka, or the embedded one with the same records.",
    )
    made: dict[str, Any] = specification.to_specification().to_jsonable()
    return made


def _reading(event: type[Event]) -> Any:
    async def read(record: Event) -> None:
        """What a stage does with it is not part of the document."""

    read.__annotations__["record"] = event
    return read


def _about(event: type[Event]) -> str:
    return " ".join((event.__doc__ or "").split())
