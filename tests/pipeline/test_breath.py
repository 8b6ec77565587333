"""Who works long on the event loop lets others have their turn."""

import asyncio

import pytest

from pipeline.breath import Breath

pytestmark = pytest.mark.anyio


async def turns_of_another(breath: Breath, pieces: int) -> int:
    """How often somebody else had the loop while this worked."""
    had, over = 0, False

    async def other() -> None:
        nonlocal had
        while not over:
            had += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    for _ in range(pieces):
        await breath.taken()
    over = True
    await beside
    return had


async def test_work_that_is_due_lets_another_have_the_loop_once_a_piece() -> None:
    assert await turns_of_another(Breath(0), pieces=7) == 7


async def test_work_that_is_not_due_keeps_the_loop() -> None:
    assert await turns_of_another(Breath(3600), pieces=7) == 0


async def test_after_a_breath_the_next_is_due_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 5.0
    monkeypatch.setattr("pipeline.breath.perf_counter", lambda: now)
    breath = Breath(1)
    now = 6.0
    assert await turns_of_another(breath, pieces=7) == 1
