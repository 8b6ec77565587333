"""Where partitions begin and end, and how far groups are."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    GroupIdNotFound,
    KafkaError,
    NoError,
    NonEmptyGroup,
    for_code,
)
from aiokafka.protocol.admin import DeleteGroupsRequest
from aiokafka.structs import OffsetAndMetadata

from pipeline.bus.kafka.cluster import Cluster, KafkaUnavailableError
from pipeline.bus.kafka.topics import Topics

REDRIVE = "recollect.redrive"
"""The group whose positions say up to where dead letters were given back."""
GROUPS = "recollect."
_Ask = Callable[[Any, list[TopicPartition]], Awaitable[dict[TopicPartition, int]]]


class Offsets:
    """Asks the cluster each time: other processes move these too."""

    def __init__(self, cluster: Cluster, topics: Topics) -> None:
        self._cluster = cluster
        self._topics = topics

    async def ends(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """The offset that the next record of each partition will get."""
        return await self._ask(topics, "say where topics end", AIOKafkaConsumer.end_offsets)

    async def starts(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """The first offset that is still there, or will be."""
        return await self._ask(topics, "say where topics begin", AIOKafkaConsumer.beginning_offsets)

    async def at(self, place: TopicPartition, moment: datetime) -> int | None:
        """The first offset of a partition that was written at that moment or later; None: there is none."""

        async def ask() -> int | None:
            reader = await self._cluster.reader()
            found = (await reader.offsets_for_times({place: int(moment.timestamp() * 1000)}))[place]
            return None if found is None else int(found.offset)

        return await self._cluster.ask(f"say what came to {place.topic} since {moment}", ask)

    async def groups(self) -> list[str]:
        """The groups of this service's stages."""

        async def ask() -> list[tuple[str, str]]:
            found: list[tuple[str, str]] = await (await self._cluster.admin()).list_consumer_groups()
            return found

        found = await self._cluster.ask("list its groups", ask)
        return sorted(name for name, *_ in found if name.startswith(GROUPS) and name != REDRIVE)

    async def positions(self, group: str) -> dict[TopicPartition, int]:
        """The next offset of a group, where it has one."""

        async def ask() -> dict[TopicPartition, OffsetAndMetadata]:
            admin = await self._cluster.admin()
            found: dict[TopicPartition, OffsetAndMetadata] = await admin.list_consumer_group_offsets(group)
            return found

        found = await self._cluster.ask(f"say how far {group} is", ask)
        return {place: meta.offset for place, meta in found.items() if meta.offset >= 0}

    async def place(self, group: str, positions: Mapping[TopicPartition, int]) -> None:
        """Set positions of a group that has no members; ValueError when it has."""

        async def commit() -> None:
            async with self._cluster.placing(group, list(positions)) as consumer:
                await consumer.commit(dict(positions))

        try:
            await self._cluster.ask(f"move {group}", commit)
        except KafkaUnavailableError as error:
            if isinstance(error.__cause__, CommitFailedError):
                raise GroupRunningError(group) from error
            raise

    async def forget(self, group: str) -> None:
        """Drop a group; ValueError while it has members."""
        error = await self._cluster.ask(f"forget {group}", lambda: self._delete(group))
        if error is NonEmptyGroup:
            raise GroupRunningError(group)

    async def _delete(self, group: str) -> type[KafkaError]:
        node = await (await self._cluster.admin()).find_coordinator(group)
        async with self._cluster.client() as client:
            await client.ready(node)
            answer = await client.send(node, DeleteGroupsRequest([group]))
        error: type[KafkaError] = for_code(answer.results[0][1])
        if error not in (NoError, GroupIdNotFound, NonEmptyGroup):
            raise error(group)
        return error

    async def _ask(self, topics: Iterable[str], doing: str, ask: _Ask) -> dict[TopicPartition, int]:
        places = [TopicPartition(topic, one) for topic in topics for one in await self._topics.known(topic)]
        if not places:
            return {}

        async def question() -> dict[TopicPartition, int]:
            return await ask(await self._cluster.reader(), places)

        return await self._cluster.ask(doing, question)


class GroupRunningError(ValueError):
    """Somebody is a member of a group whose positions are to change."""

    def __init__(self, group: str) -> None:
        super().__init__(f"group {group} is running; stop it first, in every process")
