"""Cooperative checkpoints let other tasks run during long work."""

import asyncio

import pytest

from pipeline.runtime.cooperative_yield import CooperativeYield

pytestmark = pytest.mark.anyio


async def count_interleavings(cooperative_yield: CooperativeYield, checkpoints: int) -> int:
    """Count how often another task ran between the checkpoints."""
    turns, finished = 0, False

    async def other() -> None:
        nonlocal turns
        while not finished:
            turns += 1
            await asyncio.sleep(0)

    other_task = asyncio.create_task(other())
    for _ in range(checkpoints):
        await cooperative_yield.checkpoint()
    finished = True
    await other_task
    return turns


async def test_a_due_checkpoint_yields_once_to_other_tasks() -> None:
    assert await count_interleavings(CooperativeYield(0), checkpoints=7) == 7


async def test_a_checkpoint_before_its_time_does_not_yield() -> None:
    assert await count_interleavings(CooperativeYield(3600), checkpoints=7) == 0


async def test_after_a_yield_the_next_one_is_due_an_interval_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 5.0
    monkeypatch.setattr("pipeline.runtime.cooperative_yield.perf_counter", lambda: now)
    cooperative_yield = CooperativeYield(1)
    now = 6.0
    assert await count_interleavings(cooperative_yield, checkpoints=7) == 1
