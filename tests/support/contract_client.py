"""The contract as a judge: a client that lets no answer pass which the contract does not describe."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs

PATH = Path(__file__).parents[1] / "data" / "openapi-v5.json"
METHODS = frozenset({"get", "post", "put", "patch", "delete"})


@cache
def contract_document() -> dict[str, Any]:
    """The v5 contract: structure only."""
    document: dict[str, Any] = json.loads(PATH.read_text("utf-8"))
    return document


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Paths as patterns, literal ones before those with parameters."""
    paths = sorted(contract_document()["paths"], key=lambda path: (path.count("{"), -len(path)))
    return [(re.compile(re.sub(r"\{(id)\}$", "(.+)", _template(path)) + "$"), path) for path in paths]


def _template(path: str) -> str:
    return re.sub(r"\{(?!id\}$)\w+\}", "[^/]+", path)


def find_operation(method: str, path: str) -> dict[str, Any] | None:
    """The operation that a request means; None: it is outside the contract."""
    for pattern, template in _patterns():
        found: dict[str, Any] | None = contract_document()["paths"][template].get(method.lower())
        if found is not None and pattern.match(path):
            return found
    return None


@cache
def _validator(operation_id: str, status: str, media: str) -> jsonschema_rs.Validator | None:
    described = next(
        item[method]
        for item in contract_document()["paths"].values()
        for method in METHODS & item.keys()
        if item[method]["operationId"] == operation_id
    )
    content = described["responses"][status].get("content")
    if not content:
        return None  # the contract describes the status, not its body
    assert media in content, f"{operation_id} answers {status} as {media}, the contract as {list(content)}"
    schema = {**content[media]["schema"], "components": contract_document()["components"]}
    return jsonschema_rs.validator_for(schema, validate_formats=True)


def assert_conforms(method: str, path: str, response: httpx2.Response) -> None:
    """Fail unless the contract describes this answer to this request."""
    assert response.headers.get("x-request-id"), f"{method} {path}: no x-request-id"
    described = find_operation(method, path)
    if described is None:
        return
    status = str(response.status_code)
    declared = described["responses"]
    if status in {"413", "429", "503"} and status not in declared:
        # Any operation may say that this is too much, or for now, in the shape of its other failures.
        later = status == "413" or response.headers.get("retry-after")
        assert later, f"{method} {path} says {status} and not when to come back"
        status = next(code for code in ("500", "403") if code in declared)
    assert status in declared, f"{method} {path} answered {status}, declared are {sorted(declared)}: {response.text}"
    media = response.headers["content-type"].partition(";")[0]
    validator = _validator(described["operationId"], status, media)
    if validator is not None:
        body = response.json() if media == "application/json" else response.text
        errors = [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(body)]
        assert not errors, f"{method} {path} answered {status} {response.text[:500]}: {errors}"


class ContractClient:
    """Requests in process; every answer is checked. `as_key` makes one that uses another key."""

    def __init__(self, transport: httpx2.AsyncBaseTransport, key: str | None) -> None:
        self._transport = transport
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._http = httpx2.AsyncClient(transport=transport, base_url="http://test", headers=headers)

    def as_key(self, key: str | None) -> "ContractClient":
        """The same service, asked with another key (None: with none)."""
        return ContractClient(self._transport, key)

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> httpx2.Response:
        """Send a request; `body` is sent as JSON."""
        if body is not None:
            options["json"] = body
        response = await self._http.request(method, path, headers=headers, **options)
        assert_conforms(method, path.partition("?")[0], response)
        return response

    async def ok(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The body of an answer that must be a success."""
        response = await self(method, path, body, **options)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()

    async def fails(self, status: int, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The body of an answer that must be this failure."""
        response = await self(method, path, body, **options)
        assert response.status_code == status, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()
