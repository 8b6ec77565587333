"""The topics as they should be, as they are, and what to do about the difference."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import NodeNotReadyError, TopicAlreadyExistsError, for_code

from pipeline.bus.kafka.cluster import Cluster, KafkaOptions, KafkaUnavailableError
from schemas.topics import Topic

log = logging.getLogger(__name__)

FOR_EVER = "-1"
DEAD_LETTERS = ".dlq"
RECORD_BYTES = 1_000_000
"""Key, value and headers of a record: what Kafka takes by default. Larger values are claim checks."""
PARKED_BYTES = 3_000_000
"""The same for dead letters, which may be of others and have headers more."""
OVERHEAD_BYTES = 10_000
"""What Kafka's format adds, generously."""
_SETTLE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """What a topic of Kafka is, or should be."""

    name: str
    partitions: int
    replication: int
    settings: Mapping[str, str]


def planned(topic: Topic[Any], options: KafkaOptions) -> list[TopicPlan]:
    """A topic and that of its dead letters, which keep one order and are few."""
    keep = (
        FOR_EVER if topic.keep is None else _milliseconds(max(topic.keep, timedelta(days=options.keep_days)))
    )
    partitions = 1 if topic.single else options.partitions
    return [
        _plan(topic.name, partitions, "compact" if topic.compacted else "delete", keep, options),
        _plan(topic.dead_letters, 1, "delete", FOR_EVER, options),
    ]


def most_bytes(topic: str) -> int:
    """How large a record of the topic may be."""
    return PARKED_BYTES if topic.endswith(DEAD_LETTERS) else RECORD_BYTES


def differences(plan: TopicPlan, found: TopicPlan | None) -> list[str]:
    """What is not as planned, and what to do: one sentence each."""
    if found is None:
        return [f"{plan.name} is missing. `recollect topics` creates it."]
    said = []
    if found.partitions != plan.partitions:
        said.append(
            f"{plan.name} has {found.partitions} partitions, not {plan.partitions}. The number can't change,"
            " because keys would move and lose their order: set RECOLLECT_KAFKA_PARTITIONS to what the topics"
            " have, or begin with new topics."
        )
    if found.replication != plan.replication:
        said.append(
            f"{plan.name} has {found.replication} replicas, not {plan.replication}. Reassign them with"
            " kafka-reassign-partitions.sh, or set RECOLLECT_KAFKA_REPLICATION."
        )
    return said + [
        f"{plan.name} has {name}={found.settings.get(name)}, not {value}. Change it with kafka-configs.sh"
        f" --alter --entity-type topics --entity-name {plan.name} --add-config {name}={value}"
        for name, value in plan.settings.items()
        if found.settings.get(name) != value
    ]


class Topics:
    """The topics of a cluster: asked once, and again when one is missing."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._partitions: dict[str, int] = {}
        self._lock = asyncio.Lock()

    async def partitions(self, topic: str) -> int:
        """How many a topic has; one that nobody planned is made like that of dead letters."""
        if topic not in self._partitions:
            await self._make([_plan(topic, 1, "delete", FOR_EVER, self._cluster.options)])
        return self._partitions[topic]

    async def ensure(self, topics: Iterable[Topic[Any]]) -> None:
        """Create what is missing."""
        plans = [plan for topic in topics for plan in planned(topic, self._cluster.options)]
        if any(plan.name not in self._partitions for plan in plans):
            await self._make(plans)

    async def known(self, topic: str) -> list[int]:
        """The partitions of a topic; none when there is no such topic."""
        if topic not in self._partitions:
            await self._look()
        return list(range(self._partitions.get(topic, 0)))

    async def parked(self) -> list[str]:
        """The topics of dead letters."""
        await self._look()
        return sorted(name for name in self._partitions if name.endswith(DEAD_LETTERS))

    async def check(self, topics: Iterable[Topic[Any]]) -> list[str]:
        """Every difference between what should be and what is."""
        plans = [plan for topic in topics for plan in planned(topic, self._cluster.options)]
        found = await self._describe(plans)
        return [said for plan in plans for said in differences(plan, found.get(plan.name))]

    async def _make(self, plans: Sequence[TopicPlan]) -> None:
        async with self._lock:
            await self._look()
            missing = [plan for plan in plans if plan.name not in self._partitions]
            if not missing:
                return
            await self._create(missing)
            # The controller has them before every broker does.
            async with self._cluster.bounded("tell of its new topics"):
                while any(plan.name not in self._partitions for plan in missing):
                    await asyncio.sleep(_SETTLE_SECONDS)
                    await self._look()

    async def _create(self, plans: Sequence[TopicPlan]) -> None:
        wanted = [
            NewTopic(p.name, p.partitions, p.replication, topic_configs=dict(p.settings)) for p in plans
        ]

        async def create() -> Any:
            answer = await (await self._cluster.admin()).create_topics(wanted)
            # A broker that has just started is registered before it may hold anything.
            if any("fenced" in (reason or "") for _, _, reason in answer.topic_errors):
                raise NodeNotReadyError
            return answer

        answer = await self._cluster.ask("create topics", create)
        for name, code, reason in answer.topic_errors:
            error = for_code(code)
            if code and error is not TopicAlreadyExistsError:
                raise KafkaUnavailableError(
                    f"Kafka did not create the topic {name}: {reason or error.__name__}"
                )
        log.info("Created topics: %s", ", ".join(plan.name for plan in plans))

    async def _look(self) -> None:
        described = await self._described()
        self._partitions = {name: len(one["partitions"]) for name, one in described.items()}

    async def _described(self) -> dict[str, dict[str, Any]]:
        async def ask() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = await (await self._cluster.admin()).describe_topics()
            return found

        found = await self._cluster.ask("list its topics", ask)
        return {one["topic"]: one for one in found if not one["error_code"]}

    async def _describe(self, plans: Sequence[TopicPlan]) -> dict[str, TopicPlan]:
        described = await self._described()
        wanted = {plan.name: plan for plan in plans if plan.name in described}

        async def ask() -> list[Any]:
            resources = [
                ConfigResource(ConfigResourceType.TOPIC, name, dict.fromkeys(plan.settings, ""))
                for name, plan in wanted.items()
            ]
            answers: list[Any] = await (await self._cluster.admin()).describe_configs(resources)
            return answers

        answers = await self._cluster.ask("describe its topics", ask) if wanted else []
        settings = {
            name: {entry[0]: entry[1] for entry in entries}
            for answer in answers
            for _, _, _, name, entries in answer.resources
        }
        return {name: _found(described[name], settings.get(name, {})) for name in wanted}


def _found(described: Mapping[str, Any], settings: Mapping[str, str]) -> TopicPlan:
    partitions = described["partitions"]
    replication = min((len(one["replicas"]) for one in partitions), default=0)
    return TopicPlan(described["topic"], len(partitions), replication, settings)


def _plan(name: str, partitions: int, policy: str, keep: str, options: KafkaOptions) -> TopicPlan:
    settings = {
        "cleanup.policy": policy,
        "retention.ms": keep,
        # Without it a topic would be bounded by the broker's size limit, where that has one.
        "retention.bytes": FOR_EVER,
        "min.insync.replicas": str(options.min_insync_replicas),
    }
    if name.endswith(DEAD_LETTERS):
        settings["max.message.bytes"] = str(PARKED_BYTES + OVERHEAD_BYTES)
    return TopicPlan(name, partitions, options.replication, settings)


def _milliseconds(time: timedelta) -> str:
    return str(round(time.total_seconds() * 1000))
