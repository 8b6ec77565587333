"""The application itself."""

import gc
import weakref
from pathlib import Path

import httpx2
import pytest

from tests.api.conftest import ADMIN, open_service
from tests.support.contract_client import ContractClient

pytestmark = pytest.mark.anyio


async def test_nothing_is_kept_of_an_application_that_has_ended(tmp_path: Path) -> None:
    async with open_service(tmp_path) as service:
        client = ContractClient(httpx2.ASGITransport(service.app), ADMIN)
        await client.ok("GET", "/ns")  # routes are worked out with the first request
        await client("POST", "/mcp", {})
        kept = weakref.ref(service.app)
    del service, client
    gc.collect()
    assert kept() is None
