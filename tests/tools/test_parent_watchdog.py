"""A watched child process ends with its parent."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio
_PARENT_PROGRAM = """
import subprocess, sys, time
from tools.parent_watchdog import start_watchdog, stop_watchdog
child = subprocess.Popen(["sleep", "600"])
watchdog = start_watchdog(child.pid)
print("started", flush=True)
{then}
"""


async def _start_parent(then: str) -> asyncio.subprocess.Process:
    """Start a process with a child; their shared output ends when both have ended."""
    program = _PARENT_PROGRAM.format(then=then)
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=PIPE, cwd=Path(__file__).parents[2]
    )


async def test_a_child_ends_after_its_parent_was_killed() -> None:
    parent = await _start_parent("time.sleep(600)")
    assert parent.stdout is not None
    await parent.stdout.readline()
    parent.send_signal(signal.SIGKILL)
    assert await asyncio.wait_for(parent.stdout.read(), WAIT_TIMEOUT_SECONDS) == b""
    await parent.wait()


async def test_a_child_without_its_watchdog_keeps_running() -> None:
    parent = await _start_parent("stop_watchdog(watchdog); print(child.poll(), flush=True); child.kill()")
    assert (await parent.communicate())[0].endswith(b"None\n")
