"""Requests that nobody thought of, made from our own document: none ends in a 5xx or an undeclared answer."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx2
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.core.result import Ok

from api.routes.extensions.export_import_routes import NDJSON_MEDIA_TYPE
from tests.api.conftest import ADMIN, open_service
from tests.api.test_openapi_contract import ours
from tests.support.contract_client import ContractClient

EXAMPLES = 12
MAX_URL_CHARACTERS = 65_536
"""What the client sends at most."""
HONEST = {501, 503}
"""5xx that the contract declares for what a deployment does not offer."""

Send = Callable[[Case[Any]], httpx2.Response]


@schemathesis.serializer(NDJSON_MEDIA_TYPE)
def lines(_context: schemathesis.SerializationContext, value: Any) -> bytes:
    """An import is sent as lines of JSON, whatever was generated for them."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode(errors="replace")


def operations() -> list[APIOperation[Any, Any, Any, Any]]:
    """Every operation that the service documents."""
    schema = schemathesis.openapi.from_dict(deepcopy(ours()))
    found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    assert len(found) >= 33
    return found


@pytest.fixture(scope="module")
def send(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Send]:
    """A service with a document in it, and a way to send it what was generated."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def start(folder: Path) -> ContractClient:
            service = await stack.enter_async_context(open_service(folder))
            client = ContractClient(httpx2.ASGITransport(service.app), ADMIN)
            await client.ok("POST", "/ns/0/document", {"content": "Ada lives in Berlin.", "id": "0"})
            return client

        client = runner.run(start(tmp_path_factory.mktemp("fuzz")))
        yield lambda case: runner.run(ask(client, case))
        runner.run(stack.aclose())


def ask(client: ContractClient, case: Case[Any]) -> Coroutine[Any, Any, httpx2.Response]:
    """The generated request as it would go over the wire."""
    wire = requests.Request(**case.as_transport_kwargs(base_url="http://test")).prepare()
    assert wire.url is not None
    assume(len(wire.url) <= MAX_URL_CHARACTERS)
    headers = {name: str(value) for name, value in wire.headers.items() if name.lower() in {"content-type", "accept"}}
    body = wire.body.encode() if isinstance(wire.body, str) else wire.body
    target = wire.url.removeprefix("http://test")
    return client(str(wire.method), target, headers=headers, content=body)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", operations(), ids=lambda operation: operation.label)
def test_no_request_ends_in_a_failure_of_ours_or_an_undeclared_answer(
    send: Send, operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode
) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(mode))
    def try_it(case: Case[Any]) -> None:
        response = send(case)  # the client checks status and body against the contract
        assert response.status_code < 500 or response.status_code in HONEST, response.text

    try_it()
