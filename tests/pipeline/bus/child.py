"""A process to be killed: publishes, consumes, and tells what was acknowledged and handled."""

import asyncio
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from pipeline.bus.log import LogBus
from pipeline.stage import Record, Stage
from schemas.topics import Topic
from tests.fakes import FixedClock
from tests.pipeline.bus.contract import Noted

TOPIC = Topic("test.crash.v1", Noted)
STAGE = "crashing"
PUBLISHERS = 4
RUN = 1_000_000
"""Numbers of a run; each publisher of each run has its own."""


async def main(folder: Path, run: int) -> None:
    bus = await LogBus.open(folder, partitions=4, clock=FixedClock())

    async def handle(batch: Sequence[Record[Noted]]) -> None:
        _tell("handled", [record.event.number for record in batch])

    async def publish(publisher: int) -> None:
        for number in count(run * RUN + publisher * (RUN // PUBLISHERS), 3):
            numbers = [number, number + 1, number + 2]
            await bus.publish(TOPIC, [(f"{publisher}-{one % 7}", Noted(number=one)) for one in numbers])
            _tell("acknowledged", numbers)

    await asyncio.gather(bus.run([Stage(STAGE, TOPIC, handle)]), *map(publish, range(PUBLISHERS)))


def _tell(what: str, numbers: Sequence[int]) -> None:
    sys.stdout.write(f"{what} {' '.join(map(str, numbers))}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
