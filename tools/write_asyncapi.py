"""Generator of docs/asyncapi.json: `python -m tools.write_asyncapi`. A test fails when the file is stale."""

import asyncio
import json
import tempfile
from pathlib import Path

from app.pipeline_supervisor import open_supervisor
from pipeline.bus.kafka.asyncapi_document import build_document
from pipeline.settings import Settings
from schemas.topics import ALL_TOPICS

OUTPUT_PATH = Path(__file__).parent.parent / "docs" / "asyncapi.json"


async def render() -> str:
    """Render the document from the stages of a real pipeline, as JSON text."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_supervisor(Settings(data_dir=Path(folder), embedder="none")) as supervisor:
            document = build_document(ALL_TOPICS, supervisor.pipeline.stages, "0.1.0")
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    OUTPUT_PATH.write_text(asyncio.run(render()))
