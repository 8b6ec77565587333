"""Every operation is documented with a request that the service accepts."""

import re
import shlex
from typing import Any

import httpx2
import jsonschema_rs
import pytest

from api.application import create_app
from api.openapi.examples import EXAMPLES
from tests.api.conftest import ADMIN, Service
from tests.api.test_openapi_contract import CONTRACT, operations, ours

OPERATIONS = operations(ours())
_FENCE = re.compile(r"```sh\n(.+)\n```$", re.DOTALL)
_JSON = "application/json"
_REFUSED = {400, 401, 405, 413, 415, 422, 500}
"""Statuses of a request that is wrong, whatever the service holds."""


def command_of(operation: dict[str, Any]) -> list[str]:
    """Return the words of the curl command in an operation's description."""
    found = _FENCE.search(operation["description"])
    assert found, operation["description"]
    return shlex.split(found[1].replace("$RECOLLECT_API_KEY", ADMIN).replace("\\\n", " "))


def request_of(words: list[str]) -> dict[str, Any]:
    """Return the request that curl sends for these words."""
    program, *words = words
    assert program == "curl"
    request: dict[str, Any] = {"headers": {}, "data": {}, "files": {}, "method": None}
    rest = iter(words)
    for word in rest:
        if word == "-X":
            request["method"] = next(rest)
        elif word == "-H":
            name, _, value = next(rest).partition(": ")
            request["headers"][name] = value
        elif word == "-F":
            name, _, value = next(rest).partition("=")
            if value.startswith("@"):
                request["files"][name] = (value[1:], b"%PDF-1.4")
            else:
                request["data"][name] = value
        elif word in ("-d", "--data-binary"):
            sent = next(rest)
            request["content"] = b"{}" if sent.startswith("@") else sent.encode()
        else:
            request["url"] = word
    sends_body = bool(request["files"]) or "content" in request
    return {**request, "method": request["method"] or ("POST" if sends_body else "GET")}


def test_every_example_is_of_an_operation() -> None:
    assert set(EXAMPLES) <= {operation["operationId"] for operation in OPERATIONS.values()}


@pytest.mark.parametrize("name", [name for name, operation in OPERATIONS.items() if "requestBody" in operation])
def test_a_body_has_an_example_that_its_schema_allows(name: str) -> None:
    for media, content in OPERATIONS[name]["requestBody"]["content"].items():
        if media == _JSON:
            schema = {**content["schema"], "components": ours()["components"]}
            jsonschema_rs.validator_for(schema, validate_formats=True).validate(content["example"])
        elif media == "multipart/form-data":
            assert set(content["example"]) <= set(content["schema"]["properties"])


@pytest.mark.parametrize("name", OPERATIONS)
def test_path_and_query_of_an_example_are_parameters(name: str) -> None:
    operation = OPERATIONS[name]
    given = EXAMPLES.get(operation["operationId"])
    parameters = {parameter["name"]: parameter for parameter in operation.get("parameters", ())}
    for parameter in parameters.values():
        if parameter["in"] == "path":
            assert "example" in parameter
    if given is not None:
        assert {*given.path, *given.query} <= set(parameters)


@pytest.mark.anyio
async def test_curl_commands_send_what_the_service_accepts(service: Service) -> None:
    transport = httpx2.ASGITransport(service.app)
    async with httpx2.AsyncClient(transport=transport) as http:
        for name in CONTRACT:
            request = request_of(command_of(OPERATIONS[name]))
            assert request["method"] == name.split()[0]
            answer = await http.request(**request)
            assert answer.status_code not in _REFUSED, f"{name}: {answer.text}"


def test_the_document_names_the_server_it_was_read_from_or_the_public_one() -> None:
    assert ours()["servers"] == [{"url": "."}]
    public = create_app(lambda: pytest.fail("not started here"), public_url="https://memory.example/").openapi()
    assert public["servers"] == [{"url": "https://memory.example"}]
    assert (
        "curl https://memory.example/ns/alice/search "
        in operations(public)["POST /ns/{namespace}/search"]["description"]
    )
