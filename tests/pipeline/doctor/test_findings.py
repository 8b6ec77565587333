"""An examination goes on whatever a part does."""

import asyncio

import pytest

from pipeline.doctor.findings import Finding, Found, examined, well
from pipeline.errors import OutageError

pytestmark = pytest.mark.anyio


async def fine() -> list[Found]:
    return [well("fine"), ("warning", "nearly full", "make room")]


async def broken() -> list[Found]:
    raise OutageError("no way there")


async def silent() -> list[Found]:
    await asyncio.Event().wait()
    return []


async def test_a_part_that_fails_or_is_silent_is_a_problem_and_the_others_are_looked_at() -> None:
    parts = {"broken": broken, "silent": silent, "fine": fine}
    found = [one async for one in examined(parts, seconds=0.01)]
    assert [(one.part, one.state) for one in found] == [
        ("broken", "problem"),
        ("silent", "problem"),
        ("fine", "ok"),
        ("fine", "warning"),
    ]
    assert found[0].says == "no way there"
    assert found[-1] == Finding("fine", "warning", "nearly full", "make room")
    assert all(one.do for one in found if one.state != "ok")
