"""What every test may ask for."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.s3 import S3, served
from tools.kafka import Broker, Container, KafkaMissingError, broker


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """A real S3 server, started when first asked for."""
    with served(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[Broker | Container]:
    """A real Apache Kafka, started when first asked for; a test that stops it starts it again."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(broker())
        except KafkaMissingError as error:
            pytest.skip(f"needs a real Apache Kafka: {error}")
        yield started
