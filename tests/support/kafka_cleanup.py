"""A broker as if it had just been started, without the seconds of CPU that starting one takes."""

import asyncio

from pipeline.bus.kafka.cluster import Cluster
from pipeline.bus.kafka.offsets import GroupNotEmptyError, Offsets
from pipeline.bus.kafka.topic_admin import TopicAdmin
from pipeline.settings import Settings
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS


async def delete_topics_and_groups(bootstrap: str) -> None:
    """Delete every topic and group; TimeoutError where somebody stays a member of one."""
    cluster = Cluster(Settings(kafka_bootstrap=bootstrap))
    try:
        admin = await cluster.admin()
        offsets = Offsets(cluster, TopicAdmin(cluster))
        for group, *_ in await admin.list_consumer_groups():
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                await _delete_group(offsets, group)
        if topics := [name for name in await admin.list_topics() if not name.startswith("__")]:
            await admin.delete_topics(topics)
    finally:
        await cluster.close()


async def _delete_group(offsets: Offsets, group: str) -> None:
    """Delete a group, waiting for the sessions of killed members to expire."""
    while True:
        try:
            return await offsets.delete_group(group)
        except GroupNotEmptyError:
            await asyncio.sleep(0.1)
