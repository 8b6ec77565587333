"""One service and one browser for all tests of the console; each test has namespaces of its own."""

from collections.abc import AsyncIterator

import pytest

from tests.api.console.visitor import Visitor, visiting


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="package")
async def _opened(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[Visitor]:
    async with visiting(tmp_path_factory.mktemp("console")) as opened:
        yield opened


@pytest.fixture
async def visitor(_opened: Visitor) -> AsyncIterator[Visitor]:
    """Somebody who has not signed in yet. No script may fail while they look around."""
    yield _opened
    assert await _opened.browser.complaints() == []
