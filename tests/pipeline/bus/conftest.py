"""Fixtures of buses on a real broker."""

from collections.abc import AsyncIterator

import pytest

from tests.pipeline.bus.kafka_harness import KafkaHarness
from tools.kafka_broker import DockerBroker, LocalBroker


@pytest.fixture
async def kafka_harness(kafka: LocalBroker | DockerBroker) -> AsyncIterator[KafkaHarness]:
    """Harness with topics and groups of the test's own."""
    harness = KafkaHarness(kafka.bootstrap)
    yield harness
    await harness.close()
