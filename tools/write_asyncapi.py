"""Generator of docs/asyncapi.json: `python -m tools.write_asyncapi`. A test fails when the file is stale."""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faststream.kafka import KafkaBroker
from faststream.specification import AsyncAPI

from app.pipeline_supervisor import open_supervisor
from pipeline.settings import Settings
from pipeline.stage import Stage
from schemas.base import Event
from schemas.topics import ALL_TOPICS

OUTPUT_PATH = Path(__file__).parent.parent / "docs" / "asyncapi.json"
_EXAMPLE_SERVER = "localhost:9092"
"""Server in the document, which is the same for every deployment."""


async def render() -> str:
    """Render the document from the stages of a real pipeline, as JSON text."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_supervisor(Settings(data_dir=Path(folder), embedder="none")) as supervisor:
            document = _build_document(supervisor.pipeline.stages)
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _build_document(stages: Sequence[Stage[Any]]) -> dict[str, Any]:
    """Build an AsyncAPI 3.0 document. Channels are named after topics if sent, after stages if received."""
    broker = KafkaBroker(_EXAMPLE_SERVER, apply_types=False)
    for topic in ALL_TOPICS:
        described = " ".join((topic.event_type.__doc__ or "").split())
        broker.publisher(topic.name, title=topic.name, schema=topic.event_type, description=described)
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
        version="0.1.0",
        description="What recollect writes to its log: Kafka, or the embedded one with the same records.",
    )
    document: dict[str, Any] = specification.to_specification().to_jsonable()
    return document


def _consumer_stub(event: type[Event]) -> Any:
    async def read(record: Event) -> None:
        """Do nothing; only the annotation of the record is used."""

    read.__annotations__["record"] = event
    return read


if __name__ == "__main__":
    OUTPUT_PATH.write_text(asyncio.run(render()))
