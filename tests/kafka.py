"""A broker as if it had just been started, without the seconds of CPU that starting one takes."""

import asyncio

from pipeline.bus.kafka.cluster import Cluster, KafkaOptions
from pipeline.bus.kafka.offsets import GroupRunningError, Offsets
from pipeline.bus.kafka.topics import Topics
from tests.patience import PATIENCE


async def emptied(bootstrap: str) -> None:
    """Delete every topic and group; TimeoutError where somebody stays a member of one."""
    cluster = Cluster(KafkaOptions(bootstrap=bootstrap))
    try:
        admin = await cluster.admin()
        offsets = Offsets(cluster, Topics(cluster))
        for group, *_ in await admin.list_consumer_groups():
            async with asyncio.timeout(PATIENCE):
                await _forget(offsets, group)
        if topics := [name for name in await admin.list_topics() if not name.startswith("__")]:
            await admin.delete_topics(topics)
    finally:
        await cluster.close()


async def _forget(offsets: Offsets, group: str) -> None:
    """Who was killed is a member until its session ends."""
    while True:
        try:
            return await offsets.forget(group)
        except GroupRunningError:
            await asyncio.sleep(0.1)
