"""The contract of connectors, on the engine's own small source."""

from types import MappingProxyType

import httpx2
import pytest
from starlette.responses import JSONResponse

from tests.connectors.contract import ConnectorContract, Sent, Source
from tests.connectors.shelf import Shelf, ShelfProvider, signed


class ShelfSource(Source):
    """Boards can be selected: `a` is."""

    selection = MappingProxyType({"repos": ["a"]})
    subscribes = True

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.provider = ShelfProvider()

    def transport(self) -> httpx2.AsyncBaseTransport:
        return self.shelf.transport()

    async def put(self, key: str, text: str) -> None:
        self.shelf.put(key, text)

    async def remove(self, key: str) -> None:
        self.shelf.remove(key)

    async def move_out(self, key: str) -> None:
        self.shelf.put(key, self.shelf.texts[key].text, board="b")

    async def settle(self) -> None:
        assert not self.shelf.answers

    def title(self, key: str) -> str:
        return key

    def calls(self) -> int:
        return len(self.shelf.calls)

    def withdraw(self) -> None:
        self.shelf.withdraw()

    def refuse_for(self, seconds: int) -> None:
        self.shelf.answers.append(JSONResponse({}, 429, {"Retry-After": str(seconds)}))

    def sends(self, connector: str, *, forged: bool = False) -> Sent:
        [(address, secret)] = self.shelf.hooks.items()
        body = b'{"id": "delivery-1"}'
        return Sent(address, {"x-shelf-signature": signed(body, "another" if forged else secret)}, body)

    def subscriptions(self) -> int:
        return len(self.shelf.hooks)


class TestShelf(ConnectorContract):
    """All of it."""

    @pytest.fixture
    def source(self) -> Source:
        return ShelfSource()
