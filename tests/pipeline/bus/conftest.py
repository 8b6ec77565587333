"""Buses on a real broker."""

from collections.abc import AsyncIterator

import pytest

from tests.pipeline.bus.kafka import KafkaHarness
from tools.kafka import Broker, Container


@pytest.fixture
async def kafka_harness(kafka: Broker | Container) -> AsyncIterator[KafkaHarness]:
    """Topics and groups of a test's own."""
    harness = KafkaHarness(kafka.bootstrap)
    yield harness
    await harness.close()
