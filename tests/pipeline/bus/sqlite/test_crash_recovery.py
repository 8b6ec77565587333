"""kill -9 while publishing and consuming loses no acknowledged record and duplicates none."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.stage import Record, Stage
from tests.pipeline.bus.bus_contract import NumberedEvent
from tests.pipeline.bus.sqlite.crash_child import STAGE, TOPIC
from tests.support.fakes import FixedClock

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[4]


async def run_until_killed(folder: Path, run: int, lines: int) -> dict[str, list[int]]:
    """Kill the child after `lines` lines and return the numbers it reported, by kind."""
    reports: dict[str, list[int]] = defaultdict(list)
    command = [sys.executable, "-m", "tests.pipeline.bus.sqlite.crash_child", str(folder), str(run)]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=PIPE)
    assert process.stdout is not None
    for _ in range(lines):
        _parse_line(reports, await process.stdout.readline())
    process.kill()
    while line := await process.stdout.readline():
        _parse_line(reports, line)
    await process.wait()
    return reports


def _parse_line(reports: dict[str, list[int]], line: bytes) -> None:
    if line.endswith(b"\n"):
        kind, *numbers = line.decode().split()
        reports[kind].extend(map(int, numbers))


async def test_acknowledged_records_survive_kill_9_and_are_handled(tmp_path: Path) -> None:
    acknowledged: set[int] = set()
    handled: set[int] = set()
    for run, lines in enumerate((1, 40, 333)):
        reports = await run_until_killed(tmp_path, run, lines)
        acknowledged.update(reports["acknowledged"])
        handled.update(reports["handled"])

    bus = await SqliteBus.open(tmp_path, partitions=4, clock=FixedClock())
    kept = [NumberedEvent.model_validate_json(record.value).number async for record in bus.read(TOPIC.name)]

    async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
        handled.update(record.event.number for record in batch)

    await bus.run([Stage(STAGE, TOPIC, handle)], until_idle=True)
    await bus.close()
    assert len(acknowledged) > 100
    assert acknowledged <= set(kept)
    assert max(Counter(kept).values()) == 1
    assert handled == set(kept)


async def test_a_publish_survives_kill_9_entirely_or_not_at_all(tmp_path: Path) -> None:
    await run_until_killed(tmp_path, 0, 25)
    bus = await SqliteBus.open(tmp_path, partitions=4, clock=FixedClock())
    kept = {NumberedEvent.model_validate_json(record.value).number async for record in bus.read(TOPIC.name)}
    await bus.close()
    publishes = Counter((number // 250_000, number % 250_000 // 3) for number in kept)
    assert set(publishes.values()) == {3}
