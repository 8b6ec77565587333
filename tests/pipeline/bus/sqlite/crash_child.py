"""Child process to be killed: publishes and consumes, and reports acknowledged and handled numbers."""

import asyncio
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.stage import Record, Stage
from schemas.topics import Topic
from tests.pipeline.bus.bus_contract import NumberedEvent
from tests.support.fakes import FixedClock

TOPIC = Topic("test.crash.v1", NumberedEvent)
STAGE = "crashing"
PUBLISHERS = 4
NUMBERS_PER_RUN = 1_000_000
"""Size of the range of numbers of a run, which its publishers share out."""


async def main(folder: Path, run: int) -> None:
    bus = await SqliteBus.open(folder, partitions=4, clock=FixedClock())

    async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
        _report("handled", [record.event.number for record in batch])

    async def publish(publisher: int) -> None:
        for number in count(run * NUMBERS_PER_RUN + publisher * (NUMBERS_PER_RUN // PUBLISHERS), 3):
            numbers = [number, number + 1, number + 2]
            await bus.publish(TOPIC, [(f"{publisher}-{item % 7}", NumberedEvent(number=item)) for item in numbers])
            _report("acknowledged", numbers)

    await asyncio.gather(bus.run([Stage(STAGE, TOPIC, handle)]), *map(publish, range(PUBLISHERS)))


def _report(kind: str, numbers: Sequence[int]) -> None:
    sys.stdout.write(f"{kind} {' '.join(map(str, numbers))}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
