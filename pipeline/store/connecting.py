"""Connections to LanceDB, whose threads give way to those that answer requests."""

import asyncio
import os
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import lancedb
from lancedb import AsyncConnection

NICENESS = 10
"""Of LanceDB's threads on Linux, beyond others': a tenth of a core that one of these wants too."""


async def connect(
    uri: str,
    *,
    session: lancedb.Session | None = None,
    storage: Mapping[str, str] | None = None,
    read_consistency_interval: timedelta | None = None,
) -> AsyncConnection:
    """As `lancedb.connect_async`. Commits and upkeep take more CPU than searches, and can wait for them."""
    with ThreadPoolExecutor(max_workers=1, initializer=_give_way) as own:
        # LanceDB starts its threads at its first call, and they are as nice as whoever calls.
        await asyncio.get_running_loop().run_in_executor(own, _start)
    return await lancedb.connect_async(
        uri,
        session=session,
        storage_options=None if storage is None else dict(storage),
        read_consistency_interval=read_consistency_interval,
    )


def _give_way() -> None:
    if sys.platform == "linux":
        # There niceness is that of a thread.
        own = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, own, os.getpriority(os.PRIO_PROCESS, own) + NICENESS)


def _start() -> None:
    asyncio.run(lancedb.connect_async("memory://"))
