"""What every test may ask for."""

from collections.abc import Iterator

import pytest

from tests.s3 import S3, served


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """A real S3 server, started when first asked for."""
    with served(tmp_path_factory.mktemp("s3")) as server:
        yield server
