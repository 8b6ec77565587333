"""FastAPI's OpenAPI document equals the contract, operation by operation."""

import json
from functools import cache
from typing import Any

import pytest

from api.application import create_app
from tests.support.contract_client import METHODS, contract_document

DEPTH = 2
"""Groups within groups of filters that are compared."""
_NOISE = frozenset({"title", "description", "style", "explode", "examples", "discriminator"})


@cache
def ours() -> dict[str, Any]:
    """The document of the service."""
    return create_app(lambda: pytest.fail("not started here")).openapi()


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return operations by method and path."""
    return {
        f"{method.upper()} {path}": item[method]
        for path, item in document["paths"].items()
        for method in sorted(METHODS & item.keys())  # every worker collects the same tests
    }


CONTRACT = dict(sorted(operations(contract_document()).items()))


def normal(schema: Any, document: dict[str, Any], depth: int = 0) -> Any:
    """A schema without its spelling: references followed, unions flat and sorted, no noise."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return normal({**document["components"]["schemas"][name], **rest}, document, depth)
    normalized = {
        key: value for key, value in schema.items() if key not in _NOISE and not (key == "default" and value is None)
    }
    _union(normalized, document, depth)
    _properties(normalized, document, depth)
    for key in ("items", "additionalProperties", "propertyNames"):
        if key in normalized:
            normalized[key] = normal(normalized[key], document, depth)
    _defaults(normalized)
    return normalized


def _properties(normalized: dict[str, Any], document: dict[str, Any], depth: int) -> None:
    if "properties" in normalized:
        normalized["properties"] = {
            name: "…" if name == "operands" and depth >= DEPTH
            else normal(part, document, depth + (name == "operands"))
            for name, part in normalized["properties"].items()
        }  # fmt: skip
    if "patternProperties" in normalized:
        ((pattern, value),) = normalized.pop("patternProperties").items()
        normalized["additionalProperties"] = value
        normalized["propertyNames"] = {"type": "string", "pattern": pattern, **normalized.get("propertyNames", {})}


def _defaults(normalized: dict[str, Any]) -> None:
    if normalized.get("additionalProperties") in ({}, True):
        del normalized["additionalProperties"]
    if normalized.get("propertyNames") == {"type": "string"}:
        del normalized["propertyNames"]
    for key in ("required", "enum"):
        if key in normalized:
            normalized[key] = sorted(normalized[key])
    if len(normalized.get("enum", [])) == 1:
        normalized["const"] = normalized.pop("enum")[0]


def _union(normalized: dict[str, Any], document: dict[str, Any], depth: int) -> None:
    """anyOf, oneOf and lists of types are one thing; a number takes integers in."""
    members = normalized.pop("anyOf", None) or normalized.pop("oneOf", None)
    if isinstance(normalized.get("type"), list):
        members = [{"type": kind} for kind in normalized.pop("type")]
    if members is None:
        return
    flat: list[Any] = []
    for member in members:
        branch = normal(member, document, depth)
        flat += branch["union"] if isinstance(branch, dict) and branch.keys() == {"union"} else [branch]
    if {"type": "number"} in flat:
        flat = [branch for branch in flat if branch != {"type": "integer"}]
    unique = {json.dumps(branch, sort_keys=True): branch for branch in flat}
    if len(unique) == 1:
        normalized.update(next(iter(unique.values())))
    else:
        normalized["union"] = [unique[key] for key in sorted(unique)]


def parameters(operation: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return parameters by location and name."""
    return {
        f"{parameter['in']} {parameter['name']}": {
            "required": bool(parameter.get("required")), **normal(parameter["schema"], document)
        }
        for parameter in operation.get("parameters", [])
    }  # fmt: skip


def body(operation: dict[str, Any], document: dict[str, Any]) -> Any:
    """Return whether a body is required, and its schema."""
    asked = operation.get("requestBody")
    if asked is None:
        return None
    content = {media: normal(part["schema"], document) for media, part in asked["content"].items()}
    # An optional body may be null for FastAPI; JSON null is nothing sent.
    for schema in content.values():
        if "union" in schema and {"type": "null"} in schema["union"] and not asked.get("required"):
            (only,) = [branch for branch in schema.pop("union") if branch != {"type": "null"}]
            schema.update(only)
    return {"required": bool(asked.get("required")), "content": content}


def answers(operation: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return responses by status; the contract does not describe all error bodies."""
    return {
        status: {media: normal(part["schema"], document) for media, part in (answer.get("content") or {}).items()}
        for status, answer in operation["responses"].items()
    }


def test_the_service_has_every_operation_of_the_contract() -> None:
    assert len(CONTRACT) == 33
    assert set(CONTRACT) <= set(operations(ours()))


def test_what_is_beyond_the_contract_lies_outside_its_paths() -> None:
    beyond = set(operations(ours())) - set(CONTRACT)
    for path in (name.split()[1] for name in beyond):
        assert path.startswith(("/admin/", "/ns/{namespace}/explain/")), path


@pytest.mark.parametrize("name", CONTRACT)
def test_parameters_are_those_of_the_contract(name: str) -> None:
    document = ours()
    assert parameters(operations(document)[name], document) == parameters(CONTRACT[name], contract_document())


@pytest.mark.parametrize("name", CONTRACT)
def test_bodies_are_those_of_the_contract(name: str) -> None:
    document = ours()
    assert body(operations(document)[name], document) == body(CONTRACT[name], contract_document())


@pytest.mark.parametrize("name", CONTRACT)
def test_answers_are_those_of_the_contract(name: str) -> None:
    document = ours()
    actual, expected = answers(operations(document)[name], document), answers(CONTRACT[name], contract_document())
    assert actual.keys() == expected.keys()
    for status in expected:
        if expected[status]:
            assert actual[status] == expected[status], status


@pytest.mark.parametrize("name", CONTRACT)
def test_names_and_security_are_those_of_the_contract(name: str) -> None:
    document = ours()
    actual, expected = operations(document)[name], CONTRACT[name]
    assert actual["operationId"] == expected["operationId"]
    assert actual["tags"] == expected["tags"]
    assert actual.get("security", document["security"]) == expected.get("security", contract_document()["security"])
