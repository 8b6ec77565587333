"""What FastAPI documents of the service is what the contract says, operation by operation."""

import json
from functools import cache
from typing import Any

import pytest

from api.app import create_app
from tests.contract import METHODS, contract

DEPTH = 2
"""Groups within groups of filters that are compared."""
_NOISE = frozenset({"title", "description", "style", "explode", "examples", "discriminator"})


@cache
def ours() -> dict[str, Any]:
    """The document of the service."""
    return create_app(lambda: pytest.fail("not started here")).openapi()


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By method and path."""
    return {
        f"{method.upper()} {path}": item[method]
        for path, item in document["paths"].items()
        for method in METHODS & item.keys()
    }


CONTRACT = dict(sorted(operations(contract()).items()))


def normal(schema: Any, document: dict[str, Any], depth: int = 0) -> Any:
    """A schema without its spelling: references followed, unions flat and sorted, no noise."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return normal({**document["components"]["schemas"][name], **rest}, document, depth)
    made = {
        key: value
        for key, value in schema.items()
        if key not in _NOISE and not (key == "default" and value is None)
    }
    _union(made, document, depth)
    _properties(made, document, depth)
    for key in ("items", "additionalProperties", "propertyNames"):
        if key in made:
            made[key] = normal(made[key], document, depth)
    _defaults(made)
    return made


def _properties(made: dict[str, Any], document: dict[str, Any], depth: int) -> None:
    if "properties" in made:
        made["properties"] = {
            name: "…" if name == "operands" and depth >= DEPTH
            else normal(part, document, depth + (name == "operands"))
            for name, part in made["properties"].items()
        }  # fmt: skip
    if "patternProperties" in made:
        ((pattern, value),) = made.pop("patternProperties").items()
        made["additionalProperties"] = value
        made["propertyNames"] = {"type": "string", "pattern": pattern, **made.get("propertyNames", {})}


def _defaults(made: dict[str, Any]) -> None:
    if made.get("additionalProperties") in ({}, True):
        del made["additionalProperties"]
    if made.get("propertyNames") == {"type": "string"}:
        del made["propertyNames"]
    for key in ("required", "enum"):
        if key in made:
            made[key] = sorted(made[key])
    if len(made.get("enum", [])) == 1:
        made["const"] = made.pop("enum")[0]


def _union(made: dict[str, Any], document: dict[str, Any], depth: int) -> None:
    """anyOf, oneOf and lists of types are one thing; a number takes integers in."""
    members = made.pop("anyOf", None) or made.pop("oneOf", None)
    if isinstance(made.get("type"), list):
        members = [{"type": kind} for kind in made.pop("type")]
    if members is None:
        return
    flat: list[Any] = []
    for member in members:
        one = normal(member, document, depth)
        flat += one["union"] if isinstance(one, dict) and one.keys() == {"union"} else [one]
    if {"type": "number"} in flat:
        flat = [one for one in flat if one != {"type": "integer"}]
    unique = {json.dumps(one, sort_keys=True): one for one in flat}
    if len(unique) == 1:
        made.update(next(iter(unique.values())))
    else:
        made["union"] = [unique[key] for key in sorted(unique)]


def parameters(operation: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """By place and name."""
    return {
        f"{one['in']} {one['name']}": {
            "required": bool(one.get("required")), **normal(one["schema"], document)
        }
        for one in operation.get("parameters", [])
    }  # fmt: skip


def body(operation: dict[str, Any], document: dict[str, Any]) -> Any:
    """Whether there must be one, and of what."""
    asked = operation.get("requestBody")
    if asked is None:
        return None
    content = {media: normal(part["schema"], document) for media, part in asked["content"].items()}
    # An optional body may be null for FastAPI; JSON null is nothing sent.
    for schema in content.values():
        if "union" in schema and {"type": "null"} in schema["union"] and not asked.get("required"):
            (only,) = [one for one in schema.pop("union") if one != {"type": "null"}]
            schema.update(only)
    return {"required": bool(asked.get("required")), "content": content}


def answers(operation: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """By status; the contract leaves some bodies of failures undescribed."""
    return {
        status: {
            media: normal(part["schema"], document) for media, part in (answer.get("content") or {}).items()
        }
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
    assert parameters(operations(document)[name], document) == parameters(CONTRACT[name], contract())


@pytest.mark.parametrize("name", CONTRACT)
def test_bodies_are_those_of_the_contract(name: str) -> None:
    document = ours()
    assert body(operations(document)[name], document) == body(CONTRACT[name], contract())


@pytest.mark.parametrize("name", CONTRACT)
def test_answers_are_those_of_the_contract(name: str) -> None:
    document = ours()
    made, wanted = answers(operations(document)[name], document), answers(CONTRACT[name], contract())
    assert made.keys() == wanted.keys()
    for status in wanted:
        if wanted[status]:
            assert made[status] == wanted[status], status


@pytest.mark.parametrize("name", CONTRACT)
def test_names_and_security_are_those_of_the_contract(name: str) -> None:
    document = ours()
    made, wanted = operations(document)[name], CONTRACT[name]
    assert made["operationId"] == wanted["operationId"]
    assert made["tags"] == wanted["tags"]
    assert made.get("security", document["security"]) == wanted.get("security", contract()["security"])
