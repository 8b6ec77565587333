"""kill -9 while publishing and consuming: nothing acknowledged is lost, nothing is there twice."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.bus.log import LogBus
from pipeline.stage import Record, Stage
from tests.fakes import FixedClock
from tests.pipeline.bus.child import STAGE, TOPIC
from tests.pipeline.bus.contract import Noted

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[3]


async def crash(folder: Path, run: int, lines: int) -> dict[str, list[int]]:
    """What a process said before it was killed, after so many lines."""
    told: dict[str, list[int]] = defaultdict(list)
    command = [sys.executable, "-m", "tests.pipeline.bus.child", str(folder), str(run)]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=PIPE)
    assert process.stdout is not None
    for _ in range(lines):
        _note(told, await process.stdout.readline())
    process.kill()
    while line := await process.stdout.readline():
        _note(told, line)
    await process.wait()
    return told


def _note(told: dict[str, list[int]], line: bytes) -> None:
    if line.endswith(b"\n"):
        what, *numbers = line.decode().split()
        told[what].extend(map(int, numbers))


async def test_what_was_acknowledged_survives_kill_9_and_is_handled(tmp_path: Path) -> None:
    acknowledged: set[int] = set()
    handled: set[int] = set()
    for run, lines in enumerate((1, 40, 333)):
        told = await crash(tmp_path, run, lines)
        acknowledged.update(told["acknowledged"])
        handled.update(told["handled"])

    bus = await LogBus.open(tmp_path, partitions=4, clock=FixedClock())
    kept = [Noted.model_validate_json(record.value).number async for record in bus.read(TOPIC.name)]

    async def handle(batch: Sequence[Record[Noted]]) -> None:
        handled.update(record.event.number for record in batch)

    await bus.run([Stage(STAGE, TOPIC, handle)], until_idle=True)
    await bus.close()
    assert len(acknowledged) > 100
    assert acknowledged <= set(kept)
    assert max(Counter(kept).values()) == 1
    assert handled == set(kept)


async def test_a_publish_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    await crash(tmp_path, 0, 25)
    bus = await LogBus.open(tmp_path, partitions=4, clock=FixedClock())
    kept = {Noted.model_validate_json(record.value).number async for record in bus.read(TOPIC.name)}
    await bus.close()
    publishes = Counter((number // 250_000, number % 250_000 // 3) for number in kept)
    assert set(publishes.values()) == {3}
