"""Planned settings of Kafka's topics, and the description of differences."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import typer
from aiokafka.admin import NewPartitions

from app.cli import main as recollect
from pipeline.bus.kafka.bus import KafkaBus
from pipeline.bus.kafka.cluster import Cluster, KafkaOpenError
from pipeline.bus.kafka.topic_admin import TopicAdmin, TopicSpec, topic_differences, topic_specs
from pipeline.settings import Settings
from schemas.topics import (
    ALL_TOPICS,
    DOCUMENTS_CHUNKED,
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORMED,
    SETTINGS_CHANGED,
    Topic,
)
from tests.pipeline.bus.bus_contract import NumberedEvent, events_across_keys
from tests.pipeline.bus.kafka_harness import KafkaHarness
from tests.support.fakes import FixedClock
from tools.kafka_broker import DockerBroker, LocalBroker

SETTINGS = Settings(log_partitions=6, kafka_replication=3, kafka_min_insync_replicas=2)
PLAN = TopicSpec("t", 6, 3, {"retention.ms": "-1", "cleanup.policy": "delete", "max.message.bytes": "1010000"})


def test_each_topic_is_planned_with_its_dead_letter_topic() -> None:
    plans = [plan for topic in ALL_TOPICS for plan in topic_specs(topic, SETTINGS)]
    assert len({plan.name for plan in plans}) == 2 * len(ALL_TOPICS)
    for plan in plans:
        assert plan.replication == 3
        assert plan.settings["min.insync.replicas"] == "2"
        if plan.name.endswith(".dlq"):
            assert (plan.partitions, plan.settings["retention.ms"]) == (1, "-1")


def test_derived_topics_have_limited_retention_and_source_topics_unlimited() -> None:
    def retention_ms(topic: Topic[Any]) -> str:
        return topic_specs(topic, SETTINGS)[0].settings["retention.ms"]

    assert (
        retention_ms(DOCUMENTS_SUBMITTED) == retention_ms(DOCUMENTS_EXTRACTED) == retention_ms(MEMORIES_FORMED) == "-1"
    )
    assert retention_ms(DOCUMENTS_CHUNKED) == str(7 * 86_400_000)
    assert retention_ms(Topic("t", NumberedEvent, retention=timedelta(days=30))) == str(30 * 86_400_000)


def test_the_settings_topic_is_compacted_and_has_one_partition() -> None:
    plan, _ = topic_specs(SETTINGS_CHANGED, SETTINGS)
    assert (plan.partitions, plan.settings["cleanup.policy"]) == (1, "compact")


def test_settings_outside_the_plan_are_no_difference() -> None:
    actual = replace(PLAN, settings={**PLAN.settings, "segment.ms": "1000", "max.message.bytes": "9999999"})
    assert topic_differences(PLAN, actual) == []


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (None, "t is missing"),
        (replace(PLAN, partitions=4), "4 partitions, not 6"),
        (replace(PLAN, replication=1), "1 replicas, not 3"),
        (replace(PLAN, settings={**PLAN.settings, "retention.ms": "1"}), "retention.ms=1, not -1"),
        (replace(PLAN, settings={**PLAN.settings, "max.message.bytes": "100000"}), "max.message.bytes=100000, not"),
    ],
)
def test_a_difference_is_described_with_its_remedy(actual: TopicSpec | None, expected: str) -> None:
    (sentence,) = topic_differences(PLAN, actual)
    assert expected in sentence
    assert "recollect" in sentence or "RECOLLECT" in sentence or ".sh" in sentence


@pytest.mark.anyio
@pytest.mark.kafka
async def test_created_topics_match_their_plans(kafka_harness: KafkaHarness) -> None:
    topics = [
        Topic(f"{kafka_harness.suffix}.a.v1", NumberedEvent, retention=timedelta(days=9)),
        Topic(f"{kafka_harness.suffix}.b.v1", NumberedEvent, compacted=True, single_partition=True),
    ]
    cluster = Cluster(kafka_harness.settings)
    topic_admin = TopicAdmin(cluster)
    assert len(await topic_admin.check(topics)) == 4
    await asyncio.gather(topic_admin.create_missing(topics), TopicAdmin(cluster).create_missing(topics))
    assert await topic_admin.check(topics) == []
    assert await topic_admin.existing_partitions(topics[0].name) == [0, 1, 2, 3]
    assert await topic_admin.existing_partitions(topics[1].name) == [0]
    assert await topic_admin.existing_partitions("nobody.topics.this") == []
    other_cluster = Cluster(kafka_harness.settings.model_copy(update={"log_partitions": 5}))
    assert [difference.split(" has ")[1][:12] for difference in await TopicAdmin(other_cluster).check(topics)] == [
        "4 partitions"
    ]
    await cluster.close()
    await other_cluster.close()


@pytest.mark.anyio
@pytest.mark.kafka
async def test_a_bus_is_not_opened_on_topics_with_other_partitions(kafka_harness: KafkaHarness) -> None:
    topics = [kafka_harness.topic("divided")]
    await (await KafkaBus.open(kafka_harness.settings, clock=FixedClock(), topics=topics)).close()
    other = kafka_harness.settings.model_copy(update={"log_partitions": 5})
    with pytest.raises(KafkaOpenError, match="4 partitions, not 5"):
        await KafkaBus.open(other, clock=FixedClock(), topics=topics)


@pytest.mark.anyio
@pytest.mark.kafka
async def test_keys_stay_where_they_are_while_partitions_are_added(kafka_harness: KafkaHarness) -> None:
    topic = kafka_harness.topic("grown")
    bus = await KafkaBus.open(kafka_harness.settings, clock=FixedClock(), topics=[topic])
    entries = events_across_keys(17)
    before = await bus.publish(topic, entries)
    cluster = Cluster(kafka_harness.settings)
    await (await cluster.admin()).create_partitions({topic.name: NewPartitions(7)})
    await cluster.close()
    await bus.dead_letters()  # reads anew which topics there are
    after = await bus.publish(topic, entries)
    assert [place.partition for place in after] == [place.partition for place in before]
    await bus.close()


@pytest.mark.kafka
def test_the_command_creates_and_checks(
    own_kafka: LocalBroker | DockerBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECOLLECT_KAFKA_BOOTSTRAP", own_kafka.bootstrap)
    monkeypatch.setenv("RECOLLECT_LOG_PARTITIONS", "3")
    recollect.topics()
    recollect.topics(check=True)
    assert capsys.readouterr().out == "The topics are as they should be.\n" * 2
    monkeypatch.setenv("RECOLLECT_LOG_PARTITIONS", "5")
    with pytest.raises(typer.Exit) as ended:
        recollect.topics(check=True)
    assert ended.value.exit_code == 1
    assert "documents.submitted.v1 has 3 partitions, not 5" in capsys.readouterr().out


def test_the_command_reports_that_kafka_is_not_configured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RECOLLECT_KAFKA_BOOTSTRAP", raising=False)
    recollect.topics()
    assert "is not set" in capsys.readouterr().out
