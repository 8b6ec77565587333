"""A real Apache Kafka, started once for whoever asks for it."""

from collections.abc import Iterator

import pytest

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
