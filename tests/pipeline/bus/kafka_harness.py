"""Harness for buses on the test broker."""

import uuid
from dataclasses import replace

from pipeline.bus.kafka.bus import KafkaBus
from pipeline.bus.kafka.cluster import KafkaOptions
from schemas.topics import Topic
from tests.pipeline.bus.bus_contract import FAST_RETRIES, NumberedEvent
from tests.support.fakes import FixedClock


class KafkaHarness:
    """Factory of Kafka buses with unique names of topics and groups."""

    def __init__(self, bootstrap: str) -> None:
        self.options = KafkaOptions(bootstrap=bootstrap, partitions=4, session_timeout=6.0, call_timeout=60.0)
        self.suffix = uuid.uuid4().hex[:8]
        self.buses: list[KafkaBus] = []

    def short_session_options(self) -> KafkaOptions:
        """Return options for tests that wait for a session timeout."""
        return replace(self.options, session_timeout=3.0)

    async def open(self) -> KafkaBus:
        await self.close()
        return await self.open_another()

    async def open_another(self) -> KafkaBus:
        bus = await KafkaBus.open(self.options, clock=FixedClock(), retry_policy=FAST_RETRIES, topics=[])
        self.buses.append(bus)
        return bus

    async def close(self) -> None:
        while self.buses:
            await self.buses.pop().close()

    def topic(self, name: str) -> Topic[NumberedEvent]:
        return Topic(f"test.{name}.{self.suffix}.v1", NumberedEvent)

    def stage(self, name: str) -> str:
        return f"{name}.{self.suffix}"
