"""Fixtures of the pages of the documentation: one event loop for a module, whose pages share a browser."""

import pytest


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"
