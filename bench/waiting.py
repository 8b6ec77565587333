"""Waiting for what a service does in the background, asked over HTTP."""

import asyncio
import time

from bench.load import worked
from bench.wire import Connection, UnexpectedAnswerError

PATIENCE = 3600.0
PAUSE = 0.02


async def level(connection: Connection) -> None:
    """Until every consumer group has handled all there is."""
    deadline = time.perf_counter() + PATIENCE
    while time.perf_counter() < deadline:
        if not any((await connection.get("/ready"))["lag"].values()):
            return
        await asyncio.sleep(PAUSE)
    raise UnexpectedAnswerError(f"not all is done after {PATIENCE:.0f} s")


async def idle(pid: int, seconds: int = 1, least: float = 0.1) -> None:
    """Until a process has nothing to look after: so many seconds in a row, each of less CPU than `least`."""
    deadline = time.perf_counter() + PATIENCE
    before, quiet = worked(pid), 0
    while time.perf_counter() < deadline:
        await asyncio.sleep(1.0)
        now = worked(pid)
        quiet = quiet + 1 if now - before < least else 0
        if quiet == seconds:
            return
        before = now
    raise UnexpectedAnswerError(f"the service is not idle after {PATIENCE:.0f} s")


async def replay(connection: Connection) -> float:
    """Ask for a replay; the seconds until it has switched."""
    began = time.perf_counter()
    status, answer = await connection.request("POST", "/admin/replay", b"{}")
    if status != 202:
        raise UnexpectedAnswerError(f"no replay was started: {answer[:500].decode(errors='replace')}")
    while time.perf_counter() - began < PATIENCE:
        progress = await connection.get("/admin/replay")
        if progress["state"] == "done":
            return time.perf_counter() - began
        if progress["state"] != "running":
            raise UnexpectedAnswerError(f"the replay {progress['state']}: {progress['error']}")
        await asyncio.sleep(PAUSE)
    raise UnexpectedAnswerError(f"the replay is not done after {PATIENCE:.0f} s")
