"""What the programs share that learn a file of the ranking for each of the default models."""

import asyncio
from collections.abc import Awaitable, Callable

from pipeline.index.ranking.calibration import calibration_for
from pipeline.index.segments.common_part import CommonPart
from pipeline.models import open_embedder
from pipeline.ports import Embedder


def learn_files(learn_file: Callable[[Embedder], Awaitable[None]]) -> None:
    """Learn a file for e5, and one for e5 with the sentence encoder."""

    async def learn_both() -> None:
        await learn_file(open_embedder("e5"))
        await learn_file(open_embedder("e5-encoder"))

    asyncio.run(learn_both())


def common_part_of(embedder: Embedder) -> CommonPart:
    """Return the common part of an embedder's vectors; ValueError where none is known."""
    common = calibration_for(embedder.name).common_part
    if common is None:
        raise ValueError(f"{embedder.name} has no common part")
    return common
