"""Kafka: the contract of every bus, and what several processes on a cluster may rely on."""

import uuid
from collections.abc import AsyncIterator

import pytest

from pipeline.bus.kafka.bus import KafkaBus
from pipeline.bus.kafka.cluster import KafkaOptions
from schemas.topics import Topic
from tests.fakes import FixedClock
from tests.pipeline.bus.contract import QUICK, BusContract, Noted
from tools.kafka import Broker, Container

pytestmark = [pytest.mark.anyio, pytest.mark.kafka]


class KafkaHarness:
    """Topics and groups of its own on the one broker."""

    def __init__(self, bootstrap: str) -> None:
        self.options = KafkaOptions(bootstrap=bootstrap, partitions=4, session=6.0, patience=10.0)
        self.mark = uuid.uuid4().hex[:8]
        self.buses: list[KafkaBus] = []

    async def open(self) -> KafkaBus:
        await self.close()
        return await self.another()

    async def another(self) -> KafkaBus:
        bus = await KafkaBus.open(self.options, clock=FixedClock(), patience=QUICK, topics=[])
        self.buses.append(bus)
        return bus

    async def close(self) -> None:
        while self.buses:
            await self.buses.pop().close()

    def topic(self, name: str) -> Topic[Noted]:
        return Topic(f"test.{name}.{self.mark}.v1", Noted)

    def stage(self, name: str) -> str:
        return f"{name}.{self.mark}"


@pytest.fixture
async def harness(kafka: Broker | Container) -> AsyncIterator[KafkaHarness]:
    harness = KafkaHarness(kafka.bootstrap)
    yield harness
    await harness.close()


class TestKafkaBus(BusContract):
    """The contract, on a broker."""
