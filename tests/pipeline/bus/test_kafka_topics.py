"""The topics of Kafka: what they should be, and what is said when they are not."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import typer

import recollect
from pipeline.bus.kafka.cluster import Cluster, KafkaOptions
from pipeline.bus.kafka.topics import TopicPlan, Topics, differences, planned
from schemas.topics import (
    ALL,
    DOCUMENTS_CHUNKED,
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORMED,
    SETTINGS_CHANGED,
    Topic,
)
from tests.pipeline.bus.contract import Noted
from tests.pipeline.bus.kafka import KafkaHarness
from tools.kafka import Broker, Container

OPTIONS = KafkaOptions(bootstrap="nowhere:1", partitions=6, replication=3, min_insync_replicas=2)
PLAN = TopicPlan("t", 6, 3, {"retention.ms": "-1", "cleanup.policy": "delete"})


def test_a_topic_comes_with_that_of_its_dead_letters() -> None:
    plans = [plan for topic in ALL for plan in planned(topic, OPTIONS)]
    assert len({plan.name for plan in plans}) == 2 * len(ALL)
    for plan in plans:
        assert plan.replication == 3
        assert plan.settings["min.insync.replicas"] == "2"
        if plan.name.endswith(".dlq"):
            assert (plan.partitions, plan.settings["retention.ms"]) == (1, "-1")


def test_what_can_be_made_again_is_kept_for_a_time_and_the_truth_for_ever() -> None:
    def kept(topic: Topic[Any]) -> str:
        return planned(topic, OPTIONS)[0].settings["retention.ms"]

    assert kept(DOCUMENTS_SUBMITTED) == kept(DOCUMENTS_EXTRACTED) == kept(MEMORIES_FORMED) == "-1"
    assert kept(DOCUMENTS_CHUNKED) == str(7 * 86_400_000)
    assert kept(Topic("t", Noted, keep=timedelta(days=30))) == str(30 * 86_400_000)


def test_settings_have_one_order_and_only_the_newest_of_each_key() -> None:
    plan, _ = planned(SETTINGS_CHANGED, OPTIONS)
    assert (plan.partitions, plan.settings["cleanup.policy"]) == (1, "compact")


def test_what_is_as_planned_is_not_mentioned() -> None:
    more = replace(PLAN, settings={**PLAN.settings, "segment.ms": "1000"})
    assert differences(PLAN, more) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "t is missing"),
        (replace(PLAN, partitions=4), "4 partitions, not 6"),
        (replace(PLAN, replication=1), "1 replicas, not 3"),
        (replace(PLAN, settings={**PLAN.settings, "retention.ms": "1"}), "retention.ms=1, not -1"),
    ],
)
def test_a_difference_is_said_with_what_to_do(found: TopicPlan | None, said: str) -> None:
    (sentence,) = differences(PLAN, found)
    assert said in sentence
    assert "recollect" in sentence or "RECOLLECT" in sentence or ".sh" in sentence


@pytest.mark.anyio
@pytest.mark.kafka
async def test_what_was_created_is_as_planned(kafka_harness: KafkaHarness) -> None:
    made = [
        Topic(f"{kafka_harness.mark}.a.v1", Noted, keep=timedelta(days=9)),
        Topic(f"{kafka_harness.mark}.b.v1", Noted, compacted=True, single=True),
    ]
    cluster = Cluster(kafka_harness.options)
    topics = Topics(cluster)
    assert len(await topics.check(made)) == 4
    await asyncio.gather(topics.ensure(made), Topics(cluster).ensure(made))
    assert await topics.check(made) == []
    assert await topics.known(made[0].name) == [0, 1, 2, 3]
    assert await topics.known(made[1].name) == [0]
    assert await topics.known("nobody.made.this") == []
    asked = Cluster(replace(kafka_harness.options, partitions=5))
    assert [said.split(" has ")[1][:12] for said in await Topics(asked).check(made)] == ["4 partitions"]
    await cluster.close()
    await asked.close()


@pytest.mark.kafka
def test_the_command_creates_and_checks(
    own_kafka: Broker | Container, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECOLLECT_KAFKA_BOOTSTRAP", own_kafka.bootstrap)
    monkeypatch.setenv("RECOLLECT_KAFKA_PARTITIONS", "3")
    recollect.topics()
    recollect.topics(check=True)
    assert capsys.readouterr().out == "The topics are as they should be.\n" * 2
    monkeypatch.setenv("RECOLLECT_KAFKA_PARTITIONS", "5")
    with pytest.raises(typer.Exit) as ended:
        recollect.topics(check=True)
    assert ended.value.exit_code == 1
    assert "documents.submitted.v1 has 3 partitions, not 5" in capsys.readouterr().out


def test_the_command_says_when_there_is_no_kafka(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RECOLLECT_KAFKA_BOOTSTRAP", raising=False)
    recollect.topics()
    assert "is not set" in capsys.readouterr().out
