"""Kafka: the contract of every bus, and what only a broker can promise."""

import pytest

from tests.pipeline.bus.contract import BusContract
from tests.pipeline.bus.kafka import KafkaHarness
from tests.pipeline.bus.keeping import KeepingContract

pytestmark = [pytest.mark.anyio, pytest.mark.kafka]


@pytest.fixture
def harness(kafka_harness: KafkaHarness) -> KafkaHarness:
    return kafka_harness


class TestKafkaBus(BusContract, KeepingContract):
    """The contract, on a broker."""
