"""Offsets of partitions and positions of consumer groups."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, GroupIdNotFound, KafkaError, NoError, NonEmptyGroup, for_code
from aiokafka.protocol.admin import DeleteGroupsRequest
from aiokafka.structs import OffsetAndMetadata

from pipeline.bus.kafka.cluster import Cluster, KafkaUnavailableError
from pipeline.bus.kafka.topic_admin import TopicAdmin

REDRIVE_GROUP = "recollect.redrive"
"""Group whose positions mark the settled dead letters."""
GROUP_PREFIX = "recollect."
_OffsetQuery = Callable[[Any, list[TopicPartition]], Awaitable[dict[TopicPartition, int]]]


class Offsets:
    """Queries and commits offsets; nothing is cached, since other processes change them too."""

    def __init__(self, cluster: Cluster, topics: TopicAdmin) -> None:
        self._cluster = cluster
        self._topics = topics

    async def end_offsets(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """Return the offset of the next record of each partition."""
        return await self._query_offsets(topics, "return the end of topics", AIOKafkaConsumer.end_offsets)

    async def beginning_offsets(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """Return the first remaining offset of each partition, or the next one if it is empty."""
        return await self._query_offsets(topics, "return the start of topics", AIOKafkaConsumer.beginning_offsets)

    async def offset_for_time(self, topic_partition: TopicPartition, moment: datetime) -> int | None:
        """Return the first offset of a partition written at `moment` or later; None if there is none."""

        async def query() -> int | None:
            consumer = await self._cluster.metadata_consumer()
            timestamps = {topic_partition: int(moment.timestamp() * 1000)}
            offset = (await consumer.offsets_for_times(timestamps))[topic_partition]
            return None if offset is None else int(offset.offset)

        return await self._cluster.call_with_retries(f"find the offset of {topic_partition.topic} at {moment}", query)

    async def groups(self) -> list[str]:
        """Return the consumer groups of this service's stages."""

        async def query() -> list[tuple[str, str]]:
            groups: list[tuple[str, str]] = await (await self._cluster.admin()).list_consumer_groups()
            return groups

        groups = await self._cluster.call_with_retries("list its groups", query)
        return sorted(name for name, *_ in groups if name.startswith(GROUP_PREFIX) and name != REDRIVE_GROUP)

    async def committed_offsets(self, group: str) -> dict[TopicPartition, int]:
        """Return the positions of a group, for partitions where it has one."""

        async def query() -> dict[TopicPartition, OffsetAndMetadata]:
            admin = await self._cluster.admin()
            positions: dict[TopicPartition, OffsetAndMetadata] = await admin.list_consumer_group_offsets(group)
            return positions

        positions = await self._cluster.call_with_retries(f"return the positions of {group}", query)
        return {partition: meta.offset for partition, meta in positions.items() if meta.offset >= 0}

    async def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set positions of a group; GroupNotEmptyError if it has members."""

        async def commit() -> None:
            async with self._cluster.offset_committer(group, list(offsets)) as consumer:
                await consumer.commit(dict(offsets))

        try:
            await self._cluster.call_with_retries(f"set the positions of {group}", commit)
        except KafkaUnavailableError as error:
            if isinstance(error.__cause__, CommitFailedError):
                raise GroupNotEmptyError(group) from error
            raise

    async def delete_group(self, group: str) -> None:
        """Delete a group; GroupNotEmptyError if it has members."""
        error = await self._cluster.call_with_retries(
            f"delete the group {group}", lambda: self._send_delete_group(group)
        )
        if error is NonEmptyGroup:
            raise GroupNotEmptyError(group)

    async def _send_delete_group(self, group: str) -> type[KafkaError]:
        node = await (await self._cluster.admin()).find_coordinator(group)
        async with self._cluster.raw_client() as client:
            await client.ready(node)
            answer = await client.send(node, DeleteGroupsRequest([group]))
        error: type[KafkaError] = for_code(answer.results[0][1])
        if error not in (NoError, GroupIdNotFound, NonEmptyGroup):
            raise error(group)
        return error

    async def _query_offsets(
        self, topics: Iterable[str], action: str, query: _OffsetQuery
    ) -> dict[TopicPartition, int]:
        partitions = [
            TopicPartition(topic, number)
            for topic in topics
            for number in await self._topics.existing_partitions(topic)
        ]
        if not partitions:
            return {}

        async def run_query() -> dict[TopicPartition, int]:
            return await query(await self._cluster.metadata_consumer(), partitions)

        return await self._cluster.call_with_retries(action, run_query)


class GroupNotEmptyError(ValueError):
    """The group still has members, so its positions can't be changed."""

    def __init__(self, group: str) -> None:
        super().__init__(f"group {group} is running; stop it first, in every process")
