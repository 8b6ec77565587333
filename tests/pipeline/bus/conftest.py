"""A real Apache Kafka, started once for whoever asks for it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.pipeline.bus.kafka import KafkaHarness
from tools.kafka import Broker, Container, KafkaMissingError, broker


@pytest.fixture(scope="session")
def kafka() -> Iterator[Broker | Container]:
    """The broker; tests that stop it start it again."""
    try:
        running = broker()
        started = running.__enter__()
    except KafkaMissingError as error:
        pytest.skip(f"needs a real Apache Kafka: {error}")
    try:
        yield started
    finally:
        running.__exit__(None, None, None)


@pytest.fixture
async def kafka_harness(kafka: Broker | Container) -> AsyncIterator[KafkaHarness]:
    """Topics and groups of a test's own."""
    harness = KafkaHarness(kafka.bootstrap)
    yield harness
    await harness.close()
