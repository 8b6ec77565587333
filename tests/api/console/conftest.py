"""One service and one browser for all tests of the console; each test has namespaces of its own."""

from collections.abc import AsyncIterator

import pytest

from tests.api.console.visitor import Visitor, visiting


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="package")
async def visitor(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[Visitor]:
    """Somebody who has not signed in yet."""
    async with visiting(tmp_path_factory.mktemp("console")) as opened:
        yield opened
