"""Buses on the broker of the tests."""

import uuid
from dataclasses import replace

from pipeline.bus.kafka.bus import KafkaBus
from pipeline.bus.kafka.cluster import KafkaOptions
from schemas.topics import Topic
from tests.fakes import FixedClock
from tests.pipeline.bus.contract import QUICK, Noted


class KafkaHarness:
    """Topics and groups of its own on the one broker."""

    def __init__(self, bootstrap: str) -> None:
        self.options = KafkaOptions(bootstrap=bootstrap, partitions=4, session=6.0, patience=60.0)
        self.mark = uuid.uuid4().hex[:8]
        self.buses: list[KafkaBus] = []

    def impatient(self) -> KafkaOptions:
        """For tests that wait for a session to end."""
        return replace(self.options, session=3.0)

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
