"""The contract of connectors, on the engine's own small source."""

from types import MappingProxyType

import httpx2
import pytest
from starlette.responses import JSONResponse

from bench.doubles.sample_source import SampleProvider, SampleSource, sign
from tests.connectors.provider_contract import ConnectorContract, DeliveryRequest, SourceDriver


class SampleSourceDriver(SourceDriver):
    """Boards can be selected: `a` is."""

    selection = MappingProxyType({"repos": ["a"]})
    requires_subscription = True

    def __init__(self) -> None:
        self.shelf = SampleSource()
        self.provider = SampleProvider()

    def transport(self) -> httpx2.AsyncBaseTransport:
        return self.shelf.transport()

    async def put(self, key: str, text: str) -> None:
        self.shelf.put(key, text)

    async def remove(self, key: str) -> None:
        self.shelf.remove(key)

    async def move_out(self, key: str) -> None:
        self.shelf.put(key, self.shelf.texts[key].text, board="b")

    async def assert_no_violations(self) -> None:
        assert not self.shelf.queued_responses

    def title(self, key: str) -> str:
        return key

    def call_count(self) -> int:
        return len(self.shelf.calls)

    def revoke_access(self) -> None:
        self.shelf.revoke_access()

    def rate_limit_for(self, seconds: int) -> None:
        self.shelf.queued_responses.append(JSONResponse({}, 429, {"Retry-After": str(seconds)}))

    def delivery(self, connector: str, *, forged: bool = False) -> DeliveryRequest:
        [(address, secret)] = self.shelf.hooks.items()
        body = b'{"id": "delivery-1"}'
        return DeliveryRequest(address, {"x-shelf-signature": sign(body, "another" if forged else secret)}, body)

    def subscription_count(self) -> int:
        return len(self.shelf.hooks)


class TestSampleSource(ConnectorContract):
    """All of it."""

    @pytest.fixture
    def source(self) -> SourceDriver:
        return SampleSourceDriver()
