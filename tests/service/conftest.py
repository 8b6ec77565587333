"""Service for every test of a module; each test has namespaces of its own."""

from collections.abc import AsyncIterator
from itertools import count

import pytest

from app import erasure_service
from pipeline.store.blobs import blob_store
from tests.support.contract_client import ContractClient
from tests.support.service_world import RunningService, running_service

_numbers = count(1)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[RunningService]:
    """The service that the tests of a module share."""
    async with running_service(tmp_path_factory.mktemp("service")) as opened:
        yield opened


@pytest.fixture
def client(service: RunningService) -> ContractClient:
    """The administrator."""
    return service.client


@pytest.fixture
def erasing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An erasure waits for no reader that a test does not have, and for no blob to grow old."""
    monkeypatch.setattr(erasure_service, "READ_GRACE_SECONDS", 0.05)
    monkeypatch.setattr(blob_store, "RECENT_PUT_SECONDS", 0.0)


@pytest.fixture
def ns() -> str:
    """A namespace that nobody else uses."""
    return f"n{next(_numbers)}"
