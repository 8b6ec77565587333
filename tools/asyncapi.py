"""Writes docs/asyncapi.json: `python -m tools.asyncapi`. A test compares it with what this would write."""

import asyncio
import json
import tempfile
from pathlib import Path

from pipeline.bus.kafka.asyncapi import document
from pipeline.live import open_live
from pipeline.settings import Settings
from schemas.topics import ALL

PAGE = Path(__file__).parent.parent / "docs" / "asyncapi.json"


async def written() -> str:
    """The text of the file, from the stages of a real pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_live(Settings(data_dir=Path(folder), embedder="none")) as live:
            made = document(ALL, live.pipeline.stages, "0.1.0")
    return json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(asyncio.run(written()))
