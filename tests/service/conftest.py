"""One service for every test of a module; each test has namespaces of its own."""

from collections.abc import AsyncIterator
from itertools import count

import pytest

from tests.contract import Client
from tests.service.world import World, world

_numbers = count(1)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[World]:
    """The service that the tests of a module share."""
    async with world(tmp_path_factory.mktemp("service")) as opened:
        yield opened


@pytest.fixture
def client(service: World) -> Client:
    """The administrator."""
    return service.client


@pytest.fixture
def ns() -> str:
    """A namespace that nobody else uses."""
    return f"n{next(_numbers)}"
