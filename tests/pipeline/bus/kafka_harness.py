"""Harness for buses on the test broker."""

import uuid

from pipeline.bus.kafka.bus import KafkaBus
from pipeline.settings import Settings
from schemas.topics import Topic
from tests.pipeline.bus.bus_contract import FAST_RETRIES, NumberedEvent
from tests.support.fakes import FixedClock


class KafkaHarness:
    """Factory of Kafka buses with unique names of topics and groups."""

    def __init__(self, bootstrap: str) -> None:
        self.settings = Settings(
            kafka_bootstrap=bootstrap, log_partitions=4, shards=1, kafka_session_timeout_seconds=6.0
        )
        self.bootstrap = bootstrap
        self.call_timeout = 60.0
        self.suffix = uuid.uuid4().hex[:8]
        self.buses: list[KafkaBus] = []

    def shorten_sessions(self) -> float:
        """Return the session timeout of buses opened from now on, for tests that wait for it."""
        shorter = 3.0
        self.settings = self.settings.model_copy(update={"kafka_session_timeout_seconds": shorter})
        return shorter

    async def open(self) -> KafkaBus:
        await self.close()
        return await self.open_another()

    async def open_another(self) -> KafkaBus:
        bus = await KafkaBus.open(
            self.settings,
            clock=FixedClock(),
            retry_policy=FAST_RETRIES,
            topics=[],
            call_timeout=self.call_timeout,
        )
        self.buses.append(bus)
        return bus

    async def close(self) -> None:
        while self.buses:
            await self.buses.pop().close()

    def topic(self, name: str) -> Topic[NumberedEvent]:
        return Topic(f"test.{name}.{self.suffix}.v1", NumberedEvent)

    def stage(self, name: str) -> str:
        return f"{name}.{self.suffix}"
