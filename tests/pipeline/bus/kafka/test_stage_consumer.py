"""A stage takes records from Kafka in few polls: what comes shortly after others joins the next one."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import Fetcher
from faststream.kafka import KafkaBroker

from pipeline.bus.delivery import Delivery, RetryPolicy
from pipeline.bus.kafka import stage_consumer
from pipeline.bus.kafka.partition_worker import PartitionWorker
from pipeline.bus.kafka.stage_consumer import StageConsumer
from pipeline.bus.records import without_openers
from pipeline.settings import Settings
from pipeline.stage import Stage
from schemas.topics import DOCUMENTS_SUBMITTED
from tests.support.fakes import FixedClock

pytestmark = pytest.mark.anyio


class _Consumer:
    """Has these numbers of records, one for each poll."""

    def __init__(self, *counts: int) -> None:
        self.left = list(counts)
        self._fetcher = SimpleNamespace(_fetch_max_wait_ms=500)

    @property
    def fetch_wait_ms(self) -> int:
        return int(self._fetcher._fetch_max_wait_ms)

    async def getmany(self, **_: Any) -> dict[TopicPartition, list[object]]:
        count = self.left.pop(0)
        return {TopicPartition("topic", 0): [object()] * count} if count else {}


def _stage_consumer() -> StageConsumer:
    async def handle(batch: object) -> None:
        del batch

    return StageConsumer(
        Stage(name="stage", source=DOCUMENTS_SUBMITTED, handle=handle),
        broker=KafkaBroker("nowhere:9092"),
        delivery=Delivery(None, FixedClock(), RetryPolicy()),  # type: ignore[arg-type]  # nothing is dead-lettered
        settings=Settings(),
        with_openers=without_openers,
    )


async def _begin_poll(stage: StageConsumer, consumer: Any) -> "asyncio.Task[Any]":
    polling = asyncio.create_task(stage._poll(consumer))
    for _ in range(10):
        await asyncio.sleep(0)
    return polling


@pytest.mark.parametrize(("found", "left"), [(3, [1]), (0, [])])
async def test_a_poll_rests_only_after_one_that_found_records(
    monkeypatch: pytest.MonkeyPatch, found: int, left: list[int]
) -> None:
    monkeypatch.setattr(stage_consumer, "POLL_REST_SECONDS", 3600.0)
    stage, consumer = _stage_consumer(), _Consumer(found, 1)
    assert len(await (await _begin_poll(stage, consumer))) == found
    polling = await _begin_poll(stage, consumer)
    assert consumer.left == left
    polling.cancel()


async def test_fetches_wait_longer_while_no_records_come_and_no_partition_is_paused() -> None:
    stage, consumer = _stage_consumer(), _Consumer(0, 3, 0)
    waits = []
    for paused in (False, False, True):
        if paused:
            worker = PartitionWorker(TopicPartition("topic", 0), consumer, stage._handle_batch, 1)  # only polled
            worker._paused = True
            stage._workers[worker.topic_partition] = worker
        await (await _begin_poll(stage, consumer))
        waits.append(consumer.fetch_wait_ms)
    assert waits == [2000, 500, 500]


def test_aiokafka_reads_the_wait_of_each_fetch_from_where_it_is_set() -> None:
    assert "_fetch_max_wait_ms" in Fetcher._get_actions_per_node.__code__.co_names
