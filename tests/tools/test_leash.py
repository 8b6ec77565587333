"""What was started for a while ends with whoever started it."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.patience import PATIENCE

pytestmark = pytest.mark.anyio
_STARTER = """
import subprocess, sys, time
from tools.leash import leash, unleash
started = subprocess.Popen(["sleep", "600"])
leashed = leash(started.pid)
print("started", flush=True)
{then}
"""


async def _started(then: str) -> asyncio.subprocess.Process:
    """Somebody who has started a process; what both print ends when both have ended."""
    program = _STARTER.format(then=then)
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=PIPE, cwd=Path(__file__).parents[2]
    )


async def test_what_somebody_started_who_was_killed_ends() -> None:
    starter = await _started("time.sleep(600)")
    assert starter.stdout is not None
    await starter.stdout.readline()
    starter.send_signal(signal.SIGKILL)
    assert await asyncio.wait_for(starter.stdout.read(), PATIENCE) == b""


async def test_what_is_taken_off_its_leash_goes_on() -> None:
    starter = await _started("unleash(leashed); print(started.poll(), flush=True); started.kill()")
    assert (await starter.communicate())[0].endswith(b"None\n")
