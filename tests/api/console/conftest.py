"""Fixtures: one service and one browser for all console tests; each test uses its own namespaces."""

from collections.abc import AsyncIterator

import pytest

from tests.support.console_user import ConsoleUser, console_session


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="package")
async def _opened(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[ConsoleUser]:
    async with console_session(tmp_path_factory.mktemp("console")) as opened:
        yield opened


@pytest.fixture
async def visitor(_opened: ConsoleUser) -> AsyncIterator[ConsoleUser]:
    """Return a user who has not signed in; fails if a script logged an error during the test."""
    yield _opened
    assert await _opened.browser.severe_log_messages() == []
