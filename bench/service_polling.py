"""Waiting for what a service does in the background, asked over HTTP."""

import asyncio
import json
import time

from bench.http_connection import HttpConnection, UnexpectedAnswerError
from bench.load import cpu_seconds

PATIENCE = 3600.0
PAUSE = 0.02


async def wait_for_zero_lag(connection: HttpConnection, pause: float = PAUSE) -> None:
    """Wait until the service is ready and every consumer group has processed all records.

    A busy machine makes a service unready for a while, which ends no measurement. Each look costs requests to Kafka.
    """
    deadline, answer = time.perf_counter() + PATIENCE, b""
    while time.perf_counter() < deadline:
        status, answer = await connection.request("GET", "/ready")
        if status not in (200, 503):
            raise UnexpectedAnswerError(f"GET /ready answered {status}: {answer[:500].decode(errors='replace')}")
        if status == 200 and not any(json.loads(answer)["lag"].values()):
            return
        await asyncio.sleep(pause)
    raise UnexpectedAnswerError(f"not all is done after {PATIENCE:.0f} s: {answer[:500].decode(errors='replace')}")


async def wait_for_idle_cpu(pid: int, seconds: int = 1, least: float = 0.1) -> None:
    """Wait until a process is idle: consecutive seconds with less CPU than the threshold."""
    deadline = time.perf_counter() + PATIENCE
    before, quiet = cpu_seconds(pid), 0
    while time.perf_counter() < deadline:
        await asyncio.sleep(1.0)
        now = cpu_seconds(pid)
        quiet = quiet + 1 if now - before < least else 0
        if quiet == seconds:
            return
        before = now
    raise UnexpectedAnswerError(f"the service is not idle after {PATIENCE:.0f} s")


async def trigger_and_wait_for_replay(connection: HttpConnection) -> float:
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
