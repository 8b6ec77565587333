"""Administration of topics: planned settings, creation, and differences from the plan."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import NodeNotReadyError, TopicAlreadyExistsError, for_code

from pipeline.bus.kafka.cluster import Cluster, KafkaOpenError, KafkaUnavailableError
from pipeline.settings import Settings
from schemas.topics import Topic

log = logging.getLogger(__name__)

UNLIMITED_RETENTION = "-1"
DEAD_LETTER_SUFFIX = ".dlq"
_SIZE_LIMIT = "max.message.bytes"
MAX_RECORD_BYTES = 1_000_000
"""Maximum size of key, value and headers, Kafka's default. Larger values are stored as blobs."""
MAX_DEAD_LETTER_BYTES = 3_000_000
"""Maximum size of a dead letter, which may come from another producer and has additional headers."""
RECORD_OVERHEAD_BYTES = 10_000
"""Generous bound of the overhead of Kafka's format."""
_METADATA_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """Planned or actual properties of a topic."""

    name: str
    partitions: int
    replication: int
    settings: Mapping[str, str]


def topic_specs(topic: Topic[Any], settings: Settings) -> list[TopicSpec]:
    """Return the plans of a topic and of its dead letter topic, which has one partition."""
    keep = (
        UNLIMITED_RETENTION
        if topic.retention is None
        else str(max(topic.retention, timedelta(days=settings.kafka_retention_days)) // timedelta(milliseconds=1))
    )
    partitions = 1 if topic.single_partition else settings.partitions
    return [
        _topic_spec(topic.name, partitions, "compact" if topic.compacted else "delete", keep, settings),
        _topic_spec(topic.dead_letter_topic, 1, "delete", UNLIMITED_RETENTION, settings),
    ]


def max_record_bytes(topic: str) -> int:
    """Return the maximum size of a record of the topic."""
    return MAX_DEAD_LETTER_BYTES if topic.endswith(DEAD_LETTER_SUFFIX) else MAX_RECORD_BYTES


def topic_differences(plan: TopicSpec, actual: TopicSpec | None) -> list[str]:
    """List the differences from the plan, each with its remedy."""
    if actual is None:
        return [f"{plan.name} is missing. `recollect topics` creates it."]
    differences = [] if actual.partitions == plan.partitions else [_partition_difference(plan, actual.partitions)]
    if actual.replication != plan.replication:
        differences.append(
            f"{plan.name} has {actual.replication} replicas, not {plan.replication}. Reassign them with"
            " kafka-reassign-partitions.sh, or set RECOLLECT_KAFKA_REPLICATION."
        )
    return differences + [
        f"{plan.name} has {name}={actual.settings.get(name)}, not {value}. Change it with kafka-configs.sh"
        f" --alter --entity-type topics --entity-name {plan.name} --add-config {name}={value}"
        for name, value in plan.settings.items()
        if not _suffices(name, actual.settings.get(name), value)
    ]


def _suffices(setting: str, actual: str | None, planned: str) -> bool:
    return int(actual or 0) >= int(planned) if setting == _SIZE_LIMIT else actual == planned


def _partition_difference(plan: TopicSpec, actual: int) -> str:
    return (
        f"{plan.name} has {actual} partitions, not {plan.partitions}. The number can't change, because keys would move"
        " and lose their order: set RECOLLECT_LOG_PARTITIONS to the number that the topics were made with, or, where"
        " partitions were added since, start with new topics and import an export."
    )


class TopicAdmin:
    """Cached metadata of a cluster's topics, refreshed when a topic is missing; creates topics."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._partition_counts: dict[str, int] = {}
        self._verified_counts: Mapping[str, int] = {}
        self._compacted_topics: set[str] = set()
        self._lock = asyncio.Lock()

    async def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic; an unknown topic is created with one partition."""
        if topic not in self._partition_counts:
            await self._create_specs([_topic_spec(topic, 1, "delete", UNLIMITED_RETENTION, self._cluster.settings)])
        return self._partition_counts[topic]

    async def create_missing(self, topics: Iterable[Topic[Any]]) -> None:
        """Create the topics that are missing, with their dead letter topics."""
        topics = list(topics)
        self._compacted_topics.update(topic.name for topic in topics if topic.compacted)
        plans = [plan for topic in topics for plan in topic_specs(topic, self._cluster.settings)]
        if any(plan.name not in self._partition_counts for plan in plans):
            await self._create_specs(plans)

    def verify_partitions(self, topics: Iterable[Topic[Any]]) -> None:
        """KafkaOpenError if existing topics have other numbers of partitions; these stay, whatever is added later.

        A key that moves gets offsets that its rows have seen already, so its records would be ignored.
        """
        plans = [topic_specs(topic, self._cluster.settings)[0] for topic in topics]
        for plan in plans:
            if (actual := self._partition_counts[plan.name]) != plan.partitions:
                raise KafkaOpenError(_partition_difference(plan, actual))
        self._verified_counts = {plan.name: plan.partitions for plan in plans}

    def keeps_newest_per_key(self, topic: str) -> bool:
        """Tell whether a record replaces the earlier ones of its key, so that keys must stay as they are."""
        return topic in self._compacted_topics

    async def existing_partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic, none if it does not exist."""
        if topic not in self._partition_counts:
            await self._refresh_metadata()
        return list(range(self._partition_counts.get(topic, 0)))

    async def dead_letter_topics(self) -> list[str]:
        await self._refresh_metadata()
        return sorted(name for name in self._partition_counts if name.endswith(DEAD_LETTER_SUFFIX))

    async def check(self, topics: Iterable[Topic[Any]]) -> list[str]:
        """List the differences of all topics from their plans."""
        plans = [plan for topic in topics for plan in topic_specs(topic, self._cluster.settings)]
        actual = await self._describe_specs(plans)
        return [difference for plan in plans for difference in topic_differences(plan, actual.get(plan.name))]

    async def _create_specs(self, plans: Sequence[TopicSpec]) -> None:
        async with self._lock:
            await self._refresh_metadata()
            missing = [plan for plan in plans if plan.name not in self._partition_counts]
            if not missing:
                return
            await self._create(missing)
            # Brokers learn of new topics later than the controller.
            async with self._cluster.deadline("list its new topics"):
                while any(plan.name not in self._partition_counts for plan in missing):
                    await asyncio.sleep(_METADATA_POLL_SECONDS)
                    await self._refresh_metadata()

    async def _create(self, plans: Sequence[TopicSpec]) -> None:
        new_topics = [NewTopic(p.name, p.partitions, p.replication, topic_configs=dict(p.settings)) for p in plans]

        async def create() -> Any:
            answer = await (await self._cluster.admin()).create_topics(new_topics)
            # A broker that has just started is registered before it may hold partitions.
            if any("fenced" in (reason or "") for _, _, reason in answer.topic_errors):
                raise NodeNotReadyError
            return answer

        answer = await self._cluster.call_with_retries("create topics", create)
        for name, code, reason in answer.topic_errors:
            error = for_code(code)
            if code and error is not TopicAlreadyExistsError:
                raise KafkaUnavailableError(f"Kafka did not create the topic {name}: {reason or error.__name__}")
        log.info("Created topics: %s", ", ".join(plan.name for plan in plans))

    async def _refresh_metadata(self) -> None:
        described = await self._describe_topics()
        self._partition_counts = {
            name: self._verified_counts.get(name, len(topic["partitions"])) for name, topic in described.items()
        }

    async def _describe_topics(self) -> dict[str, dict[str, Any]]:
        async def query() -> list[dict[str, Any]]:
            topics: list[dict[str, Any]] = await (await self._cluster.admin()).describe_topics()
            return topics

        topics = await self._cluster.call_with_retries("list its topics", query)
        return {topic["topic"]: topic for topic in topics if not topic["error_code"]}

    async def _describe_specs(self, plans: Sequence[TopicSpec]) -> dict[str, TopicSpec]:
        described = await self._describe_topics()
        existing = {plan.name: plan for plan in plans if plan.name in described}

        async def query() -> list[Any]:
            resources = [
                ConfigResource(ConfigResourceType.TOPIC, name, dict.fromkeys(plan.settings, ""))
                for name, plan in existing.items()
            ]
            answers: list[Any] = await (await self._cluster.admin()).describe_configs(resources)
            return answers

        answers = await self._cluster.call_with_retries("describe its topics", query) if existing else []
        settings = {
            name: {entry[0]: entry[1] for entry in entries}
            for answer in answers
            for _, _, _, name, entries in answer.resources
        }
        return {name: _actual_spec(described[name], settings.get(name, {})) for name in existing}


def _actual_spec(described: Mapping[str, Any], settings: Mapping[str, str]) -> TopicSpec:
    partitions = described["partitions"]
    replication = min((len(partition["replicas"]) for partition in partitions), default=0)
    return TopicSpec(described["topic"], len(partitions), replication, settings)


def _topic_spec(name: str, partitions: int, policy: str, retention_ms: str, settings: Settings) -> TopicSpec:
    config = {
        "cleanup.policy": policy,
        "retention.ms": retention_ms,
        # Overrides a size limit of the broker.
        "retention.bytes": UNLIMITED_RETENTION,
        "min.insync.replicas": str(settings.kafka_min_insync_replicas),
        _SIZE_LIMIT: str(max_record_bytes(name) + RECORD_OVERHEAD_BYTES),
    }
    return TopicSpec(name, partitions, settings.kafka_replication, config)
